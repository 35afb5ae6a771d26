package core

import (
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/core/pod"
	"triplane.dev/kubeapi/core/service"
	"triplane.dev/kubeapi/event"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

// Group builds the core group, v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	allocation, err := service.NewAllocation(d)
	if err != nil {
		return nil, err
	}
	spec := podspec.OptionsOf(&d)
	b := group.New(d, "", "v1")
	pods := group.Add(b, pod.Kind(spec))
	group.Add(b, namespaceKind())
	group.Add(b, nodeKind(d.Addresses()))
	group.Add(b, configMapKind())
	group.Add(b, secretKind())
	accounts := group.Add(b, serviceAccountKind())
	group.Add(b, service.Kind(allocation))
	group.Add(b, endpointsKind(d.Addresses()))
	group.Add(b, event.Kind(d.EventTTL))
	group.Add(b, persistentVolumeKind(d.Gate("MutablePVNodeAffinity")))
	group.Add(b, persistentVolumeClaimKind())
	group.Add(b, replicationControllerKind(spec))
	group.Add(b, podTemplateKind(spec))
	group.Add(b, limitRangeKind())
	group.Add(b, resourceQuotaKind())
	if pods == nil || accounts == nil {
		return b.Info()
	}
	subresources := pod.Subresources(pods, &d)
	b.Resource("bindings", subresources["binding"])
	for name, sub := range subresources {
		b.Resource("pods/"+name, sub)
	}
	b.Resource("services/proxy", service.Proxy{Stores: d.Stores, Dial: d.Kubelets.Dial()}.Resource())
	b.Resource("nodes/proxy", nodeProxy{stores: d.Stores, kubelets: d.Kubelets}.resource())
	b.Resource("componentstatuses", componentStatuses{health: d.StorageHealth}.resource())
	if d.TokenIssuer != nil {
		b.Resource("serviceaccounts/token", newTokenRequests(d).resource())
	}
	return b.Info()
}
