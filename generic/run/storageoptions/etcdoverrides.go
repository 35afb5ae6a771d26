package storageoptions

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/run/storeurl"
)

// EtcdOverride is an etcd cluster that stores individual resources.
type EtcdOverride struct {
	Servers   storeurl.URLs
	Resources []schema.GroupResource
}

// ParseOverrides parses --etcd-servers-overrides. It merges entries with the same servers into one cluster.
func (o *Etcd) ParseOverrides() ([]EtcdOverride, error) {
	var overrides []EtcdOverride
	seen := map[schema.GroupResource]bool{}
	for _, s := range o.Overrides {
		name, list, _ := strings.Cut(s, "#")
		group, resource, _ := strings.Cut(name, "/")
		servers := storeurl.Parse(list, ";")
		if resource == "" || strings.Contains(resource, "/") || len(servers) == 0 || servers.Validate() != nil {
			return nil, fmt.Errorf("--etcd-servers-overrides invalid, must be of format: group/resource#servers, "+
				"where servers are URLs, semicolon separated: %q", name+"#"+servers.String())
		}
		r := schema.GroupResource{Group: group, Resource: resource}
		if seen[r] {
			return nil, fmt.Errorf("--etcd-servers-overrides: %s is listed twice", r)
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
