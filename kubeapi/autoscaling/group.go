package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds autoscaling/v2 and v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, autoscalingv2.GroupName, "v2", "v1")
	least := int32(1)
	if d.Gate("HPAScaleToZero") {
		least = 0
	}
	group.Add(b, autoscalerKind(least, d.Gate("HPAGeneration")))
	return b.Info()
}
