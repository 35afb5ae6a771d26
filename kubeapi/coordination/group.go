package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds coordination.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, coordinationv1.GroupName, "v1", "v1beta1", "v1alpha2")
	group.Add(b, leaseKind())
	group.Add(b, candidateKind())
	return b.Info()
}
