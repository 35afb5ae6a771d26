package options

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EtcdOverride is a cluster that keeps some resources.
type EtcdOverride struct {
	Servers   []string
	Resources []schema.GroupResource
}

// ParseOverrides reads --etcd-servers-overrides. Entries with the same servers
// are one cluster.
func (o *Etcd) ParseOverrides() ([]EtcdOverride, error) {
	var overrides []EtcdOverride
	seen := map[schema.GroupResource]bool{}
	for _, s := range o.Overrides {
		name, list, _ := strings.Cut(s, "#")
		group, resource, _ := strings.Cut(name, "/")
		servers := strings.Split(list, ";")
		if resource == "" || slices.ContainsFunc(servers, func(u string) bool { return !isServerURL(u) }) {
			return nil, fmt.Errorf("--etcd-servers-overrides invalid, must be of format: group/resource#servers, "+
				"where servers are URLs, semicolon separated: %q", s)
		}
		r := schema.GroupResource{Group: group, Resource: resource}
		if seen[r] {
			return nil, fmt.Errorf("--etcd-servers-overrides: %s is there twice", r)
		}
		seen[r] = true
		i := slices.IndexFunc(overrides, func(c EtcdOverride) bool { return slices.Equal(c.Servers, servers) })
		if i < 0 {
			i, overrides = len(overrides), append(overrides, EtcdOverride{Servers: servers})
		}
		overrides[i].Resources = append(overrides[i].Resources, r)
	}
	return overrides, nil
}

// isServerURL reports whether etcd can be dialed at a URL: a host, or the path of
// a unix socket.
func isServerURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "unix", "unixs":
		return u.Host != "" || len(u.Path) > 1
	}
	return false
}
