package rbac

import (
	"context"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// PolicyRules returns all rules of a user in a namespace; "" returns those of cluster role bindings only. Rules
// of cluster role bindings come first; both kinds are ordered by the names of the bindings. The error names
// bindings whose role does not exist. The rules of all other bindings are returned with it.
func (a *Authorizer) PolicyRules(u *user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var rules []rbacv1.PolicyRule
	var errs []error
	scopes := []string{""}
	if namespace != "" {
		scopes = append(scopes, namespace)
	}
	for _, scope := range scopes {
		for _, b := range a.bindingsOf(u, scope) {
			more, err := a.rulesOf(b.ref, b.namespace)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			rules = append(rules, more...)
		}
	}
	return rules, utilerrors.NewAggregate(errs)
}

// bindingsOf returns each binding that applies to the user once.
func (a *Authorizer) bindingsOf(u *user.Info, namespace string) []*binding {
	seen := map[*binding]bool{}
	var found []*binding
	eachSubject(u, namespace, func(key grantKey) *grant {
		for _, g := range a.grantsOf(key) {
			if !seen[g.binding] {
				seen[g.binding] = true
				found = append(found, g.binding)
			}
		}
		return nil
	})
	sort.Slice(found, func(i, j int) bool { return found[i].name.name < found[j].name.name })
	return found
}

// RoleRules returns the rules of the role that a binding in namespace refers to, or a NotFound error.
func (a *Authorizer) RoleRules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.rulesOf(ref, namespace)
}

// RulesFor implements authorizer.RuleResolver. The rules are complete even if there is an error: a binding
// whose role does not exist grants nothing.
func (a *Authorizer) RulesFor(ctx context.Context, u *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	if err := a.await(ctx); err != nil {
		return nil, nil, true, err
	}
	rules, err := a.PolicyRules(u, namespace)
	for _, r := range rules {
		if len(r.Resources) > 0 {
			resource = append(resource, authorizer.Rule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources,
				ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			nonResource = append(nonResource, authorizer.Rule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return resource, nonResource, false, err
}
