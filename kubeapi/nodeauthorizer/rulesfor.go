package nodeauthorizer

import (
	"context"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/user"
	"triplane/generic/guard/authorization"
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
