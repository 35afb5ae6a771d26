package authorization

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/kubeapi/group"
)

// answerer asks the authorizer. Problems with the question are reported beside those
// of the answer.
type answerer struct{ authorizer authorizer.Authorizer }

func (a answerer) answer(ctx context.Context, attributes *authorizer.Attributes,
	problems []string) authorizationv1.SubjectAccessReviewStatus {
	if a.authorizer == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	}
	decision, reason, err := a.authorizer.Authorize(ctx, attributes)
	if err != nil {
		problems = append([]string{err.Error()}, problems...)
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.Allow, Denied: decision == authorizer.Deny, Reason: reason,
		EvaluationError: strings.Join(problems, "; "),
	}
}

// invalid names no kind, as kube-apiserver's reviews do not.
func invalid(errs field.ErrorList) error {
	return rest.Invalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

func notA(kind string, obj runtime.Object) error {
	return apierrors.NewBadRequest(fmt.Sprintf("not a %s: %T", kind, obj))
}

// asker is who makes the request.
func asker(ctx context.Context) (*user.Info, error) {
	if u := request.UserFrom(ctx); u != nil {
		return u, nil
	}
	return nil, apierrors.NewBadRequest("no user present on request")
}

func (a answerer) review(ctx context.Context, c rest.CreateRequest) (runtime.Object, error) {
	r, ok := c.Object.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return nil, notA("SubjectAccessReview", c.Object)
	}
	if errs := append(subject(&r.Spec), bareMetadata(&r.ObjectMeta, "")...); len(errs) > 0 {
		return nil, invalid(errs)
	}
	if err := group.Admit(ctx, r, c.Validate); err != nil {
		return nil, err
	}
	attributes, problems := attributesOf(&r.Spec)
	r.Status = a.answer(ctx, attributes, problems)
	return r, nil
}

func (a answerer) reviewSelf(ctx context.Context, c rest.CreateRequest) (runtime.Object, error) {
	r, ok := c.Object.(*authorizationv1.SelfSubjectAccessReview)
	if !ok {
		return nil, notA("SelfSubjectAccessReview", c.Object)
	}
	errs := exactlyOne(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	errs = append(errs, selectors(r.Spec.ResourceAttributes)...)
	errs = append(errs, bareMetadata(&r.ObjectMeta, "")...)
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	u, err := asker(ctx)
	if err != nil {
		return nil, err
	}
	if err := group.Admit(ctx, r, c.Validate); err != nil {
		return nil, err
	}
	attributes := &authorizer.Attributes{User: u}
	problems := fill(attributes, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
	r.Status = a.answer(ctx, attributes, problems)
	return r, nil
}

func (a answerer) reviewLocal(ctx context.Context, c rest.CreateRequest) (runtime.Object, error) {
	r, ok := c.Object.(*authorizationv1.LocalSubjectAccessReview)
	if !ok {
		return nil, notA("LocalSubjectAccessReview", c.Object)
	}
	if r.Namespace == "" {
		r.Namespace = request.NamespaceFrom(ctx)
	}
	errs := append(subject(&r.Spec), bareMetadata(&r.ObjectMeta, r.Namespace)...)
	if ra := r.Spec.ResourceAttributes; ra != nil && ra.Namespace != r.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), ra.Namespace,
			"must match metadata.namespace"))
	}
	if r.Spec.NonResourceAttributes != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), r.Spec.NonResourceAttributes,
			"disallowed on this kind of request"))
	}
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	if ns := request.NamespaceFrom(ctx); ns != r.Namespace {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %v", ns))
	}
	if err := group.Admit(ctx, r, c.Validate); err != nil {
		return nil, err
	}
	attributes, problems := attributesOf(&r.Spec)
	r.Status = a.answer(ctx, attributes, problems)
	return r, nil
}

// rules answers which rules a user has; a nil resolver knows none.
type rules struct{ authorizer.RuleResolver }

func (a rules) review(ctx context.Context, c rest.CreateRequest) (runtime.Object, error) {
	r, ok := c.Object.(*authorizationv1.SelfSubjectRulesReview)
	if !ok {
		return nil, notA("SelfSubjectRulesReview", c.Object)
	}
	u, err := asker(ctx)
	if err != nil {
		return nil, err
	}
	if r.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	if err := group.Admit(ctx, r, c.Validate); err != nil {
		return nil, err
	}
	namespace := r.Spec.Namespace
	r = &authorizationv1.SelfSubjectRulesReview{} // the question is not repeated
	s := &r.Status
	s.ResourceRules, s.NonResourceRules = []authorizationv1.ResourceRule{}, []authorizationv1.NonResourceRule{}
	if a.RuleResolver == nil {
		s.Incomplete = true
		return r, nil
	}
	resource, other, incomplete, err := a.RulesFor(ctx, u, namespace)
	s.Incomplete = incomplete
	if err != nil {
		s.EvaluationError = err.Error()
	}
	for _, x := range resource {
		s.ResourceRules = append(s.ResourceRules, authorizationv1.ResourceRule{
			Verbs: x.Verbs, APIGroups: x.APIGroups, Resources: x.Resources, ResourceNames: x.ResourceNames,
		})
	}
	for _, x := range other {
		s.NonResourceRules = append(s.NonResourceRules, authorizationv1.NonResourceRule{Verbs: x.Verbs,
			NonResourceURLs: x.NonResourceURLs})
	}
	return r, nil
}
