package admissionregistration

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

// paramAccess refuses policies and bindings whose author may not read the params:
// the server reads them for all users, and what expressions make of them reaches
// clients in messages (KEP-3488).
type paramAccess struct {
	authorizer authorizer.Authorizer // nil allows everything
	served     *discovery.Groups
	stores     *group.Stores
}

func (p *paramAccess) validatingPolicy(ctx context.Context, o,
	old *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	if old != nil && !check.Differs(o.Spec.ParamKind, old.Spec.ParamKind) {
		return nil
	}
	return p.policy(ctx, o.Spec.ParamKind)
}

func (p *paramAccess) mutatingPolicy(ctx context.Context, o, old *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	if old != nil && !check.Differs(o.Spec.ParamKind, old.Spec.ParamKind) {
		return nil
	}
	return p.policy(ctx, o.Spec.ParamKind)
}

func (p *paramAccess) validatingBinding(ctx context.Context, o,
	old *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	if old != nil && o.Spec.PolicyName == old.Spec.PolicyName && !check.Differs(o.Spec.ParamRef, old.Spec.ParamRef) {
		return nil
	}
	return p.binding(ctx, o.Spec.ParamRef, func() (*admissionv1.ParamKind, error) {
		policy, err := group.ValidatingAdmissionPolicies(p.stores).Get(ctx, "", o.Spec.PolicyName)
		if err != nil {
			return nil, err
		}
		return policy.Spec.ParamKind, nil
	})
}

func (p *paramAccess) mutatingBinding(ctx context.Context, o,
	old *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	if old != nil && o.Spec.PolicyName == old.Spec.PolicyName && !check.Differs(o.Spec.ParamRef, old.Spec.ParamRef) {
		return nil
	}
	return p.binding(ctx, o.Spec.ParamRef, func() (*admissionv1.ParamKind, error) {
		policy, err := group.MutatingAdmissionPolicies(p.stores).Get(ctx, "", o.Spec.PolicyName)
		if err != nil {
			return nil, err
		}
		return policy.Spec.ParamKind, nil
	})
}

// policy requires that the user may get all objects of the kind.
func (p *paramAccess) policy(ctx context.Context, kind *admissionv1.ParamKind) field.ErrorList {
	if kind == nil {
		return nil
	}
	a := p.resource(kind)
	a.Verb, a.Name, a.Namespace = "get", "*", "*"
	if p.allows(ctx, a) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "paramKind"), fmt.Sprintf(
		`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`, a.User.Name,
		kind.Kind, kind.APIVersion))}
}

// binding requires that the user may read what the binding selects, of every
// resource where the policy does not say which.
func (p *paramAccess) binding(ctx context.Context, ref *admissionv1.ParamRef,
	kindOf func() (*admissionv1.ParamKind, error)) field.ErrorList {
	if ref == nil {
		return nil
	}
	kind, err := kindOf()
	a := everyResource()
	if err == nil && kind != nil {
		a = p.resource(kind)
	}
	a.Verb, a.Name, a.Namespace = "get", ref.Name, ref.Namespace
	if ref.Name == "" {
		a.Verb, a.Name = "list", "*"
	}
	if a.Namespace == "" {
		a.Namespace = "*" // that of each request
	}
	if p.allows(ctx, a) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "paramRef"), fmt.Sprintf(
		"user %v does not have %q permission on the object referenced by paramRef", a.User.Name, a.Verb))}
}

// resource is that of the kind, or all that it might come to be.
func (p *paramAccess) resource(kind *admissionv1.ParamKind) *authorizer.Attributes {
	a := everyResource()
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return a
	}
	a.APIGroup, a.APIVersion = gv.Group, gv.Version
	if p.served != nil {
		if r, ok := p.served.ResourceOf(gv.WithKind(kind.Kind)); ok {
			a.Resource = r.Name
		}
	}
	return a
}

func everyResource() *authorizer.Attributes {
	return &authorizer.Attributes{APIGroup: "*", APIVersion: "*", Resource: "*", ResourceRequest: true}
}

// allows reports whether the user of the request, which it sets, has a permission.
// The server itself and members of system:masters have all.
func (p *paramAccess) allows(ctx context.Context, a *authorizer.Attributes) bool {
	a.User = request.UserFrom(ctx)
	if p.authorizer == nil || a.User == nil || a.User.InGroup(user.SystemPrivileged) {
		return true
	}
	decision, _, err := p.authorizer.Authorize(ctx, a)
	return err == nil && decision == authorizer.Allow
}
