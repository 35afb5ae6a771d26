package admission

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// defaultIngressClass sets the default ingress class on ingresses without one.
//
// Options: none. Metrics: none. Order: any.
type defaultIngressClass struct{ stores *group.Stores }

func newDefaultIngressClass(d *Dependencies) admission.Interface {
	return &defaultIngressClass{stores: d.Stores}
}

// Handles implements admission.Interface.
func (*defaultIngressClass) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface.
func (d *defaultIngressClass) Admit(ctx context.Context, a *admission.Attributes) error {
	in, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Subresource != "" || in.Spec.IngressClassName != nil {
		return nil
	}
	if _, ok := in.Annotations["kubernetes.io/ingress.class"]; ok {
		return nil
	}
	all, err := group.IngressClasses(d.stores).ListCached(request.SkippingUnreadable(ctx), "")
	if err != nil {
		return admission.Forbiddenf(a, "%w", err)
	}
	class, ok := newest(all, func(c *networkingv1.IngressClass) bool {
		return c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	})
	if ok {
		in.Spec.IngressClassName = &class.Name
	}
	return nil
}
