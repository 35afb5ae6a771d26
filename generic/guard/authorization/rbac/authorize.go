package rbac

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// Authorize implements authorizer.Authorizer. It never denies: without a matching rule it has no opinion.
func (a *Authorizer) Authorize(ctx context.Context, attrs *authorizer.Attributes) (authorizer.Decision, string, error) {
	if attrs.User == nil {
		return authorizer.NoOpinion, "", nil
	}
	if err := a.await(ctx); err != nil {
		return authorizer.NoOpinion, "", err
	}
	combined := attrs.Resource
	if attrs.Subresource != "" {
		combined += "/" + attrs.Subresource
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	var missing []error
	decide := func(key grantKey) *grant {
		for _, g := range a.grantsOf(key) {
			rules, err := a.rulesOf(g.binding.ref, g.binding.namespace)
			if err != nil {
				missing = append(missing, err)
			}
			for i := range rules {
				if allows(&rules[i], attrs, combined) {
					return g
				}
			}
		}
		return nil
	}
	if g := eachSubject(attrs.User, "", decide); g != nil {
		return authorizer.Allow, g.reason, nil
	}
	if attrs.Namespace != "" {
		if g := eachSubject(attrs.User, attrs.Namespace, decide); g != nil {
			return authorizer.Allow, g.reason, nil
		}
	}
	reason := ""
	if len(missing) > 0 {
		reason = "RBAC: " + utilerrors.NewAggregate(missing).Error()
	}
	return authorizer.NoOpinion, reason, nil
}

// eachSubject calls f for the user and each of their groups until f returns a grant.
func eachSubject(u *user.Info, namespace string, f func(grantKey) *grant) *grant {
	if g := f(grantKey{namespace, false, u.Name}); g != nil {
		return g
	}
	for _, group := range u.Groups {
		if g := f(grantKey{namespace, true, group}); g != nil {
			return g
		}
	}
	return nil
}

// rulesOf returns the rules of the role that a binding in namespace refers to.
func (a *Authorizer) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	n, resource := name{"", ref.Name}, "clusterrole"
	switch ref.Kind {
	case "ClusterRole":
	case "Role":
		n, resource = name{namespace, ref.Name}, "role"
	default:
		return nil, apierrors.NewBadRequest("unsupported role reference kind: " + ref.Kind)
	}
	r := a.roles.get(n)
	if r == nil || a.demand != nil && !a.demand.IsReady() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}, ref.Name)
	}
	return r.rules, nil
}

// allows reports whether a rule allows a request. combined is "resource/subresource".
func allows(rule *rbacv1.PolicyRule, a *authorizer.Attributes, combined string) bool {
	if !hasOrAll(rule.Verbs, a.Verb) {
		return false
	}
	if !a.ResourceRequest {
		return anyPathCovers(rule.NonResourceURLs, a.Path)
	}
	return hasOrAll(rule.APIGroups, a.APIGroup) &&
		resourceMatches(rule.Resources, combined, a.Subresource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

func hasOrAll(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

// resourceMatches reports whether a rule's resources match. "*" matches everything, "*/scale" that subresource
// of every resource.
func resourceMatches(rules []string, combined, subresource string) bool {
	for _, r := range rules {
		if r == "*" || r == combined {
			return true
		}
		if subresource != "" && len(r) == len(subresource)+2 && r[:2] == "*/" && r[2:] == subresource {
			return true
		}
	}
	return false
}
