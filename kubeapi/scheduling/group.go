package scheduling

import (
	schedulingv1 "k8s.io/api/scheduling/v1"

	"triplane/generic/server"
	"triplane/kubeapi/group"
)

// Group builds scheduling.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, schedulingv1.GroupName, "v1")
	group.Add(b, priorityClassKind())
	return b.Info()
}
