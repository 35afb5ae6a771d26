package authorization

import (
	"context"
	"errors"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// AlwaysAllow allows every request.
type AlwaysAllow struct{}

// Authorize implements authorizer.Authorizer.
func (AlwaysAllow) Authorize(context.Context, *authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.Allow, "", nil
}

// RulesFor implements authorizer.RuleResolver.
func (AlwaysAllow) RulesFor(context.Context, *user.Info, string) (resource, nonResource []authorizer.Rule,
	incomplete bool, err error) {
	all := []string{"*"}
	return []authorizer.Rule{{Verbs: all, APIGroups: all, Resources: all}},
		[]authorizer.Rule{{Verbs: all, NonResourceURLs: all}}, false, nil
}

// AlwaysDeny has no opinion on any request. The request is denied unless another authorizer allows it.
type AlwaysDeny struct{}

// Authorize implements authorizer.Authorizer.
func (AlwaysDeny) Authorize(context.Context, *authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.NoOpinion, "Everything is forbidden.", nil
}

// RulesFor implements authorizer.RuleResolver.
func (AlwaysDeny) RulesFor(context.Context, *user.Info, string) (resource, nonResource []authorizer.Rule,
	incomplete bool, err error) {
	return nil, nil, false, nil
}

// NoRules is the rule resolver of an authorizer that cannot list its rules. Its value is the name of the
// authorizer in the error, "node" or "webhook".
type NoRules string

// RulesFor implements authorizer.RuleResolver.
func (n NoRules) RulesFor(context.Context, *user.Info, string) (resource, nonResource []authorizer.Rule,
	incomplete bool, err error) {
	return nil, nil, true, errors.New(string(n) + " authorizer does not support user rule resolution")
}
