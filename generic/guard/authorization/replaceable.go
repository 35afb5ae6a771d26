package authorization

import (
	"context"
	"sync/atomic"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// Replaceable delegates to authorizers that can be replaced at run time. Each request is decided by one
// generation of authorizers. Replace must be called before the first request.
type Replaceable struct {
	current atomic.Pointer[generation]
}

type generation struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// Replace sets the authorizers for the following requests.
func (r *Replaceable) Replace(a authorizer.Authorizer, rules authorizer.RuleResolver) {
	r.current.Store(&generation{a, rules})
}

// Authorize implements authorizer.Authorizer.
func (r *Replaceable) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	return r.current.Load().Authorize(ctx, a)
}

// RulesFor implements authorizer.RuleResolver.
func (r *Replaceable) RulesFor(ctx context.Context, u *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	return r.current.Load().RulesFor(ctx, u, namespace)
}
