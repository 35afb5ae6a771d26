package kubeapi_test

import (
	"context"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/kubeapi/group"
)

// storedRules is RBAC by the objects that are stored at the time of the question,
// so that a story need not wait until a new role is known.
type storedRules struct{ stores *group.Stores }

// Authorize implements authorizer.Authorizer.
func (r storedRules) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	now, err := r.now(ctx)
	if err != nil {
		return authorizer.NoOpinion, "", err
	}
	return now.Authorize(ctx, a)
}

// RulesFor implements authorizer.RuleResolver.
func (r storedRules) RulesFor(ctx context.Context, u *user.Info, namespace string) (resource, nonResource []authorizer.Rule, incomplete bool, err error) {
	now, err := r.now(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	return now.RulesFor(ctx, u, namespace)
}

func (r storedRules) now(ctx context.Context) (*rbac.Authorizer, error) {
	a := rbac.New()
	if err := feed(ctx, group.ClusterRoles(r.stores), a); err != nil {
		return nil, err
	}
	if err := feed(ctx, group.ClusterRoleBindings(r.stores), a); err != nil {
		return nil, err
	}
	if err := feed(ctx, group.Roles(r.stores), a); err != nil {
		return nil, err
	}
	return a, feed(ctx, group.RoleBindings(r.stores), a)
}

func feed[T kind.Object](ctx context.Context, of group.Handle[T], a *rbac.Authorizer) error {
	objects, err := of.ListConsistent(ctx, "")
	for _, o := range objects {
		a.Set(o)
	}
	return err
}
