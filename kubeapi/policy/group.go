package policy

import (
	policyv1 "k8s.io/api/policy/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds policy/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, policyv1.GroupName, "v1")
	group.Add(b, disruptionBudgetKind())
	return b.Info()
}
