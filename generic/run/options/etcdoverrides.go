package options

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EtcdOverride is an etcd cluster that stores individual resources.
type EtcdOverride struct {
	Servers   []string
	Resources []schema.GroupResource
}

// ParseOverrides parses --etcd-servers-overrides. It merges entries with the same servers into one cluster.
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
			return nil, fmt.Errorf("--etcd-servers-overrides: %s is listItems twice", r)
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

// isServerURL reports whether s is a URL of an etcd server: with a host, or with the path of a Unix socket.
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
