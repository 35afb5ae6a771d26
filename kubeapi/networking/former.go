package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"triplane.dev/generic/api/kind"
)

// formerIngresses are the ingresses of extensions and of the group's beta, which
// have the same fields.
func formerIngresses() []kind.Version[*networkingv1.Ingress] {
	var out []kind.Version[*networkingv1.Ingress]
	for _, group := range []string{networkingv1.GroupName, "extensions"} {
		out = append(out, kind.SimilarFields(schema.GroupVersion{Group: group, Version: "v1beta1"}, fromBetaIngress, nil))
	}
	return out
}

// fromBetaIngress converts backends that name their service and port themselves.
// A path without a type is one that the implementation interprets.
func fromBetaIngress(old *networkingv1beta1.Ingress, out *networkingv1.Ingress) error {
	if old.Spec.Backend != nil {
		out.Spec.DefaultBackend = fromBetaBackend(old.Spec.Backend)
	}
	for i := range old.Spec.Rules {
		http := old.Spec.Rules[i].HTTP
		if http == nil {
			continue
		}
		for j := range http.Paths {
			path := &out.Spec.Rules[i].HTTP.Paths[j]
			path.Backend = *fromBetaBackend(&http.Paths[j].Backend)
			if path.PathType == nil {
				any := networkingv1.PathTypeImplementationSpecific
				path.PathType = &any
			}
		}
	}
	return nil
}

func fromBetaBackend(old *networkingv1beta1.IngressBackend) *networkingv1.IngressBackend {
	out := &networkingv1.IngressBackend{Resource: old.Resource}
	if old.ServiceName == "" && old.ServicePort == (intstr.IntOrString{}) {
		return out
	}
	out.Service = &networkingv1.IngressServiceBackend{Name: old.ServiceName}
	if old.ServicePort.Type == intstr.String {
		out.Service.Port.Name = old.ServicePort.StrVal
	} else {
		out.Service.Port.Number = old.ServicePort.IntVal
	}
	return out
}
