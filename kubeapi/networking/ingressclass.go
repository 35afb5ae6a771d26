package networking

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

const maxController = 250

func ingressClassKind() kind.Kind[*networkingv1.IngressClass] {
	return kind.Kind[*networkingv1.IngressClass]{
		Hub: v1.WithKind("IngressClass"),
		Representation: kind.Typed[*networkingv1.IngressClass]{Former: kind.SameFields[*networkingv1.IngressClass](
			"IngressClass", "networking.k8s.io/v1beta1")},
		Names: kind.Names{Plural: "ingressclasses"},
		Write: kind.Write[*networkingv1.IngressClass]{
			Default: func(c *networkingv1.IngressClass) {
				if p := c.Spec.Parameters; p != nil && p.Scope == nil {
					p.Scope = ptr.To(networkingv1.IngressClassParametersReferenceScopeCluster)
				}
			},
			CountsGeneration: true,
			Validate:         func(_ context.Context, c *networkingv1.IngressClass) field.ErrorList { return validateClass(c) },
			ValidateUpdate: func(_ context.Context, c, old *networkingv1.IngressClass) field.ErrorList {
				return append(check.Immutable(c.Spec.Controller, old.Spec.Controller, field.NewPath("spec", "controller")),
					validateClass(c)...)
			},
			AllowUnconditionalUpdate: true,
		},
		Show: kind.Show[*networkingv1.IngressClass]{
			Columns: []kind.Column{
				show.Name(),
				show.Text("Controller", "Controller that is responsible for handling this class"),
				show.Text("Parameters", "A reference to a resource with additional parameters"),
				show.Age(),
			},
			Cells: func(c *networkingv1.IngressClass, since func(metav1.Time) string) []any {
				params := "<none>"
				if p := c.Spec.Parameters; p != nil {
					params = p.Kind
					if p.APIGroup != nil {
						params += "." + *p.APIGroup
					}
					params += "/" + p.Name
				}
				return []any{c.Name, c.Spec.Controller, params, since(c.CreationTimestamp)}
			},
		},
	}
}

func validateClass(c *networkingv1.IngressClass) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if len(c.Spec.Controller) > maxController {
		errs = append(errs, field.TooLong(path.Child("controller"), "", maxController))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(path.Child("controller"), c.Spec.Controller)...)
	return append(errs, validateClassParameters(c.Spec.Parameters, path.Child("parameters"))...)
}

func validateClassParameters(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := validateLocalRef(localRef(p), path)
	namespace := path.Child("namespace")
	if p.Scope == nil {
		return append(errs, field.Required(path.Child("scope"), ""))
	}
	cluster, namespaced := networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace
	errs = append(errs, check.OneOf(*p.Scope, path.Child("scope"), cluster, namespaced)...)
	switch {
	case *p.Scope == namespaced && p.Namespace == nil:
		errs = append(errs, field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
	case *p.Scope == namespaced:
		errs = append(errs, check.Label(*p.Namespace, namespace)...)
	case *p.Scope == cluster && p.Namespace != nil:
		errs = append(errs, field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
	}
	return errs
}
