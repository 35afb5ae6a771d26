package pod

import (
	corev1 "k8s.io/api/core/v1"

	"triplane/generic/authorization/authorizer"
	"triplane/generic/registry"
	"triplane/generic/registry/rest"
	"triplane/kubeapi/group"
	"triplane/kubeapi/kubelet"
)

// Subresources returns the subresources of pods that are not part of their
// declaration, by name. A nil authz allows everything.
func Subresources(pods *registry.Store[*corev1.Pod], stores *group.Stores, authz authorizer.Authorizer, kubelets *kubelet.Client) map[string]rest.Storage {
	out := connecters(pods, stores, authz, kubelets)
	out["binding"] = namedBinding{Bindings{pods}}
	out["eviction"] = eviction{pods: pods, stores: stores}
	out["log"] = logResource{pods: pods, stores: stores, kubelets: kubelets}
	out["proxy"] = proxyResource{pods, kubelets}
	return out
}
