package kubeapi_test

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/user"
	"triplane/generic/guard/authorization/rbac"
	"triplane/kubeapi/group"
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
	if err := feed[*rbacv1.ClusterRole](ctx, r.stores, a, "clusterroles"); err != nil {
		return nil, err
	}
	if err := feed[*rbacv1.ClusterRoleBinding](ctx, r.stores, a, "clusterrolebindings"); err != nil {
		return nil, err
	}
	if err := feed[*rbacv1.Role](ctx, r.stores, a, "roles"); err != nil {
		return nil, err
	}
	return a, feed[*rbacv1.RoleBinding](ctx, r.stores, a, "rolebindings")
}

func feed[T group.Object](ctx context.Context, stores *group.Stores, a *rbac.Authorizer, plural string) error {
	objects, err := group.List[T](ctx, stores, schema.GroupResource{Group: rbacv1.GroupName, Resource: plural}, "", &metainternalversion.ListOptions{})
	for _, o := range objects {
		a.Handler().OnAdd(o, false)
	}
	return err
}
