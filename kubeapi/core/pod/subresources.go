package pod

import (
	corev1 "k8s.io/api/core/v1"

	"triplane/generic/api/registry"
	"triplane/generic/api/rest"
	"triplane/kubeapi/group"
)

// Subresources returns the subresources of pods that are not part of their
// declaration, by name, and how pods are bound.
func Subresources(pods *registry.Store[*corev1.Pod], d *group.Deps) (subresources map[string]rest.Storage, bindings Bindings) {
	stores, kubelets := d.Stores, d.Kubelets
	bindings = Bindings{Pods: pods, ForgetNominated: d.Gate("ClearingNominatedNodeNameAfterBinding")}
	out := connecters(pods, d)
	out["binding"] = namedBinding{bindings}
	out["eviction"] = eviction{pods: pods, stores: stores}
	out["log"] = logResource{pods: pods, stores: stores, kubelets: kubelets, streams: d.Gate("PodLogsQuerySplitStreams")}
	out["proxy"] = proxyResource{pods, kubelets}
	return out, bindings
}
