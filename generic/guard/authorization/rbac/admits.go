package rbac

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/user"
)

// Label and value of the roles and bindings of the default policy.
const (
	defaultPolicyLabel = "kubernetes.io/bootstrapping"
	defaultPolicyValue = "rbac-defaults"
)

// Admits reports whether an administrator has bound a role to the user, or to one of the user's groups, in any
// namespace. What the default policy binds to all users, with and without authentication, does not count.
func (a *Authorizer) Admits(ctx context.Context, u *user.Info) (bool, error) {
	if err := a.await(ctx); err != nil {
		return false, err
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.admitted.get(subject{false, u.Name}) > 0 {
		return true, nil
	}
	for _, group := range u.Groups {
		if a.admitted.get(subject{true, group}) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// admits reports whether a grant of a binding counts for Admits.
func admits(binding *metav1.ObjectMeta, key grantKey) bool {
	if binding.Labels[defaultPolicyLabel] != defaultPolicyValue || !key.group {
		return true
	}
	switch key.subject {
	case user.AllAuthenticated, user.AllUnauthenticated, user.AllServiceAccounts:
		return false
	}
	return true
}
