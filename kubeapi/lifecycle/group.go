package lifecycle

import (
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// gate serves the group.
const gate = "EvictionRequestAPI"

// Group builds lifecycle.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, lifecyclev1alpha1.GroupName, "v1alpha1")
	group.AddGated(b, gate, evictionKind())
	group.AddGated(b, gate, evictionRequestKind())
	return b.Info()
}
