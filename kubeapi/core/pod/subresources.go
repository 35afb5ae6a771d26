package pod

import (
	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/group"
)

// Subresources returns the subresources of pods that are not part of their declaration, by name.
func Subresources(pods *registry.Store[*corev1.Pod], d *group.Deps) map[string]*rest.Resource {
	stores, kubelets := d.Stores, d.Kubelets
	out := connecters(pods, d)
	out["binding"] = binder{pods: pods, forgetNominated: d.Gate("ClearingNominatedNodeNameAfterBinding")}.resource()
	out["eviction"] = eviction{pods: pods, stores: stores}.resource()
	out["log"] = logResource{pods: pods, stores: stores, kubelets: kubelets,
		streams: d.Gate("PodLogsQuerySplitStreams")}.resource()
	out["proxy"] = proxyResource{pods, kubelets}.resource()
	return out
}
