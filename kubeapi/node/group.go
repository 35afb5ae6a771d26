package node

import (
	nodev1 "k8s.io/api/node/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds node.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, nodev1.GroupName, "v1")
	group.Add(b, runtimeClassKind(d.Gate("TaintTolerationComparisonOperators")))
	return b.Info()
}
