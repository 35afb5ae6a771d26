package scheduling

import (
	schedulingv1 "k8s.io/api/scheduling/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds scheduling.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, schedulingv1.GroupName, "v1", "v1beta1", "v1alpha3")
	group.Add(b, priorityClassKind())
	group.AddGated(b, gateWorkload, workloadKind())
	preempts := d.Gate("PodGroupPreemptionPolicy")
	group.AddGated(b, gateWorkload, podGroupKind(preempts))
	group.AddGated(b, "CompositePodGroup", compositePodGroupKind(preempts))
	return b.Info()
}
