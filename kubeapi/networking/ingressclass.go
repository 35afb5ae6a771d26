package networking

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const maxController = 250

func ingressClassKind() kind.Kind[*networkingv1.IngressClass] {
	type class = *networkingv1.IngressClass
	return kind.Kind[class]{
		Representation: kind.Typed[class]{Former: kind.SameFields[class]("v1beta1")},
		Write: kind.Write[class]{
			Default:          defaultClass,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: validateClass,
		},
		Columns: []kind.Column{show.NameOrDefault("ingressclass.kubernetes.io"),
			show.Field("Controller", "spec.controller", "Controller that is responsible for handling this class"),
			show.Cell("Parameters", "A reference to a resource with additional parameters", classParameters), show.Age()},
	}
}

func defaultClass(c *networkingv1.IngressClass) {
	if p := c.Spec.Parameters; p != nil {
		defaults.Set(&p.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

func classParameters(c *networkingv1.IngressClass) string {
	p := c.Spec.Parameters
	if p == nil {
		return show.None
	}
	params := p.Kind
	if p.APIGroup != nil {
		params += "." + *p.APIGroup
	}
	return params + "/" + p.Name
}

func validateClass(_ context.Context, c, old *networkingv1.IngressClass) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		errs = check.Immutable(c.Spec.Controller, old.Spec.Controller, path.Child("controller"))
	}
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
	return check.DeclaredLast(errs)
}
