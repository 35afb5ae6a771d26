package apps

import (
	appsv1 "k8s.io/api/apps/v1"

	"triplane/generic/server"
	"triplane/kubeapi/group"
)

// Group builds apps/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, appsv1.GroupName, "v1")
	group.Add(b, deploymentKind())
	group.Add(b, statefulSetKind())
	group.Add(b, daemonSetKind())
	group.Add(b, replicaSetKind())
	group.Add(b, controllerRevisionKind())
	return b.Info()
}
