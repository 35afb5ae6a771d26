package apiserverinternal

import (
	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds internal.apiserver.k8s.io/v1alpha1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, internalv1alpha1.GroupName, "v1alpha1")
	group.Add(b, storageVersionKind())
	return b.Info()
}
