package networking

import (
	networkingv1 "k8s.io/api/networking/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds networking.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, networkingv1.GroupName, "v1", "v1beta1")
	group.Add(b, networkPolicyKind(d.Addresses()))
	group.Add(b, ingressKind(d.Addresses()))
	group.Add(b, ingressClassKind())
	group.Add(b, ipAddressKind())
	group.Add(b, serviceCIDRKind(!d.Gate("ServiceCIDRStatusFieldWiping")))
	return b.Info()
}
