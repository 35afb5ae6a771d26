package core

import (
	"net"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/server"
	"triplane/kubeapi/core/service/allocator"
	"triplane/kubeapi/event"
	"triplane/kubeapi/group"
)

// Group builds the core group, v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	options, err := d.RESTOptions.GetRESTOptions(schema.GroupResource{Resource: "services"})
	if err != nil {
		return nil, err
	}
	a := &serviceAllocation{
		ips:   allocator.NewIPs(d.Stores, ServicePrefixes(d.ServiceCIDRs)),
		ports: allocator.NewPorts(options.Backend, options.Prefix, d.NodePortRange),
	}
	for _, p := range ServicePrefixes(d.ServiceCIDRs) {
		a.families = append(a.families, familyOf(p.Addr().String()))
	}
	b := group.New(d, "", "v1")
	pods := group.Add(b, podKind())
	group.Add(b, namespaceKind())
	group.Add(b, nodeKind())
	group.Add(b, configMapKind())
	group.Add(b, secretKind())
	accounts := group.Add(b, serviceAccountKind())
	group.Add(b, serviceKind(a))
	group.Add(b, endpointsKind())
	group.Add(b, event.Kind(d.EventTTL))
	group.Add(b, persistentVolumeKind())
	group.Add(b, persistentVolumeClaimKind())
	group.Add(b, replicationControllerKind())
	group.Add(b, podTemplateKind())
	group.Add(b, limitRangeKind())
	group.Add(b, resourceQuotaKind())
	if pods == nil || accounts == nil {
		return b.Info()
	}
	b.Resource("bindings", bareBinding{pods})
	b.Resource("pods/binding", podBinding{bareBinding{pods}})
	b.Resource("pods/eviction", eviction{pods: pods, stores: d.Stores})
	b.Resource("pods/log", podLog{pods: pods, stores: d.Stores})
	for name, c := range podConnecters(pods, d.Stores, d.Authorizer) {
		b.Resource("pods/"+name, c)
	}
	b.Resource("services/proxy", serviceProxy{stores: d.Stores})
	b.Resource("nodes/proxy", nodeProxy{stores: d.Stores})
	b.Resource("componentstatuses", componentStatuses{health: d.StorageHealth})
	if d.TokenIssuer != nil {
		b.Resource("serviceaccounts/token", newTokenRequests(d))
	}
	return b.Info()
}

// ServicePrefixes are ranges of cluster IPs as prefixes.
func ServicePrefixes(ranges []*net.IPNet) []netip.Prefix {
	var out []netip.Prefix
	for _, n := range ranges {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			out = append(out, p)
		}
	}
	return out
}
