package apps

import (
	appsv1 "k8s.io/api/apps/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

// Group builds apps/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	pods := podspec.OptionsOf(&d)
	b := group.New(d, appsv1.GroupName, "v1")
	group.Add(b, deploymentKind(pods))
	group.Add(b, statefulSetKind(pods, statefulSetGates{
		parallel: d.Gate("MaxUnavailableStatefulSet"), recreate: d.Gate("StatefulSetRecreateStrategy")}))
	group.Add(b, daemonSetKind(pods))
	group.Add(b, replicaSetKind(pods))
	group.Add(b, controllerRevisionKind())
	return b.Info()
}
