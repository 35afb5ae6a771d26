package discovery

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds discovery.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, discoveryv1.GroupName, "v1")
	group.Add(b, endpointSliceKind(d.Addresses()))
	return b.Info()
}
