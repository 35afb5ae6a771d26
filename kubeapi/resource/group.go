package resource

import (
	resourcev1 "k8s.io/api/resource/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

var v1 = resourcev1.SchemeGroupVersion

// Group builds resource.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, resourcev1.GroupName, "v1", "v1beta2", "v1beta1", "v1alpha3")
	group.Add(b, deviceClassKind())
	var access *statusAccess
	if d.Gate(gateStatusAccess) {
		access = &statusAccess{d.Authorizer}
	}
	group.Add(b, resourceClaimKind(d.Stores, access))
	group.Add(b, claimTemplateKind(d.Stores))
	group.Add(b, resourceSliceKind())
	group.Add(b, taintRuleKind())
	group.Add(b, poolRequestKind())
	return b.Info()
}
