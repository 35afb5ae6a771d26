package nodeauthorizer

import (
	"context"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization"
)

// RulesFor implements authorizer.RuleResolver. What a node may do depends on its
// pods and cannot be listed; others have nothing from here.
func (a *Authorizer) RulesFor(ctx context.Context, u *user.Info,
	namespace string) (resource, nonResource []authorizer.Rule, incomplete bool, err error) {
	if _, ok := Name(u); ok {
		return authorization.NoRules("node").RulesFor(ctx, u, namespace)
	}
	return nil, nil, false, nil
}
