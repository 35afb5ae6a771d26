package authorization

import (
	"context"
	"errors"
	"testing"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

type fixed struct {
	decision authorizer.Decision
	reason   string
	err      error
}

func (f fixed) Authorize(context.Context, *authorizer.Attributes) (authorizer.Decision, string, error) {
	return f.decision, f.reason, f.err
}

func TestUnion(t *testing.T) {
	no, yes, never := fixed{reason: "no"}, fixed{decision: authorizer.Allow, reason: "yes"}, fixed{decision: authorizer.Deny, reason: "never"}
	for _, c := range []struct {
		all      []authorizer.Authorizer
		decision authorizer.Decision
		reason   string
	}{
		{[]authorizer.Authorizer{no, fixed{}, fixed{reason: "nor me"}}, authorizer.NoOpinion, "no\nnor me"},
		{[]authorizer.Authorizer{no, yes, never}, authorizer.Allow, "yes"},
		{[]authorizer.Authorizer{no, never, yes}, authorizer.Deny, "never"},
		{[]authorizer.Authorizer{fixed{err: errors.New("x")}, yes}, authorizer.Allow, "yes"},
		{nil, authorizer.NoOpinion, ""},
	} {
		d, reason, err := Union(c.all...).Authorize(context.Background(), &authorizer.Attributes{})
		if d != c.decision || reason != c.reason || err != nil {
			t.Errorf("%v: %v %q %v", c.all, d, reason, err)
		}
	}
	if _, _, err := Union(fixed{err: errors.New("x")}, no).Authorize(context.Background(), nil); err == nil {
		t.Error("the error is lost")
	}
}

func TestSimpleAuthorizers(t *testing.T) {
	masters := &user.Info{Groups: []string{user.SystemPrivileged}}
	for _, c := range []struct {
		a     authorizer.Authorizer
		attrs authorizer.Attributes
		want  authorizer.Decision
	}{
		{SystemMasters(), authorizer.Attributes{User: masters}, authorizer.Allow},
		{SystemMasters(), authorizer.Attributes{User: &user.Info{Name: user.SystemPrivileged}}, authorizer.NoOpinion},
		{SystemMasters(), authorizer.Attributes{}, authorizer.NoOpinion},
		{AlwaysAllow{}, authorizer.Attributes{}, authorizer.Allow},
		{AlwaysDeny{}, authorizer.Attributes{}, authorizer.NoOpinion},
	} {
		if d, _, err := c.a.Authorize(context.Background(), &c.attrs); d != c.want || err != nil {
			t.Errorf("%T %+v: %v %v", c.a, c.attrs, d, err)
		}
	}
	_, _, incomplete, err := RuleUnion(AlwaysAllow{}, NoRules("node")).RulesFor(context.Background(), masters, "n")
	if !incomplete || err == nil || err.Error() != "node authorizer does not support user rule resolution" {
		t.Errorf("%v %v", incomplete, err)
	}
}

func TestAttributesOf(t *testing.T) {
	var a authorizer.Attributes
	AttributesOf(&request.Info{Verb: "list", Resource: "pods", IsResourceRequest: true, FieldSelector: "spec.nodeName=n", LabelSelector: "a in (b,c)"}, &user.Info{Name: "u"}, &a)
	if a.Verb != "list" || len(a.FieldSelector) != 1 || len(a.LabelSelector) != 1 || a.User.Name != "u" || !a.ResourceRequest {
		t.Errorf("%+v", a)
	}
	AttributesOf(&request.Info{FieldSelector: "nonsense", LabelSelector: "a in"}, nil, &a)
	if a.FieldSelector != nil || a.LabelSelector != nil {
		t.Errorf("%+v", a)
	}
}
