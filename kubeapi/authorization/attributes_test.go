package authorization

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
)

func fieldIn(key string, values ...string) metav1.FieldSelectorRequirement {
	return metav1.FieldSelectorRequirement{Key: key, Operator: metav1.FieldSelectorOpIn, Values: values}
}

func TestSelectorsThatCannotBeReadNarrowNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		fields   *authorizationv1.FieldSelectorAttributes
		labels   *authorizationv1.LabelSelectorAttributes
		n        int
		problems []string
	}{
		{name: "none"},
		{name: "one", fields: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{fieldIn("a", "b")}}, n: 1},
		{name: "raw", fields: &authorizationv1.FieldSelectorAttributes{RawSelector: "a=b,c!=d"}, n: 2},
		{name: "two values", fields: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{fieldIn("a", "b", "c")}},
			problems: []string{"spec.resourceAttributes.fieldSelector ignored due to parse error"}},
		{name: "partly", fields: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{fieldIn("a", "b"), {Key: "x", Operator: "Near"}}}, n: 1,
			problems: []string{"spec.resourceAttributes.fieldSelector partially ignored due to parse error"}},
		{name: "labels raw", labels: &authorizationv1.LabelSelectorAttributes{RawSelector: "a in ("},
			problems: []string{"spec.resourceAttributes.labelSelector ignored due to parse error"}},
		{name: "labels partly", labels: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: "Exists"}, {Key: "b", Operator: "Near", Values: []string{"c"}}}}, n: 1,
			problems: []string{"spec.resourceAttributes.labelSelector partially ignored due to parse error"}},
	} {
		var a authorizer.Attributes
		problems := fill(&a, &authorizationv1.ResourceAttributes{FieldSelector: c.fields, LabelSelector: c.labels}, nil)
		if got := len(a.FieldSelector) + len(a.LabelSelector); got != c.n || !slices.Equal(problems, c.problems) {
			t.Errorf("%s: %d requirements, %q", c.name, got, problems)
		}
	}
}

func TestInvalidReviews(t *testing.T) {
	path := &authorizationv1.NonResourceAttributes{Path: "/x", Verb: "get"}
	resource := &authorizationv1.ResourceAttributes{Verb: "get"}
	for _, c := range []struct {
		errs string
		want string
	}{
		{invalid(subject(&authorizationv1.SubjectAccessReviewSpec{})).Error(), "exactly one of nonResourceAttributes or resourceAttributes must be specified"},
		{invalid(subject(&authorizationv1.SubjectAccessReviewSpec{User: "a", ResourceAttributes: resource, NonResourceAttributes: path})).Error(), `{"path":"/x","verb":"get"}: exactly one of`},
		{invalid(subject(&authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: resource})).Error(), "at least one of user or group must be specified"},
		{invalid(bareMetadata(&metav1.ObjectMeta{Name: "x"}, "")).Error(), "must be empty"},
		{invalid(bareMetadata(&metav1.ObjectMeta{Name: "x", Namespace: "n"}, "n")).Error(), "must be empty except for namespace"},
	} {
		if !strings.HasPrefix(c.errs, `.authorization.k8s.io "" is invalid: `) || !strings.Contains(c.errs, c.want) {
			t.Errorf("%s, want %s", c.errs, c.want)
		}
	}
	if errs := selectors(&authorizationv1.ResourceAttributes{LabelSelector: &authorizationv1.LabelSelectorAttributes{
		Requirements: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near", Values: []string{"b"}}}}}); len(errs) > 0 {
		t.Errorf("an operator of the future is refused: %v", errs)
	}
}
