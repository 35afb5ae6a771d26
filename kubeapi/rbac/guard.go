package rbac

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	authrbac "triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

// guard refuses to grant permissions to users who do not hold them.
type guard struct {
	authorizer authorizer.Authorizer
	rules      authorizer.RuleResolver
	stores     *group.Stores
}

// trusted users may grant everything: the server itself, and its masters.
func (g *guard) trusted(ctx context.Context) bool {
	u := request.UserFrom(ctx)
	return g.rules == nil || u == nil || u.InGroup(user.SystemPrivileged)
}

// may asks whether the user has a special verb on a role.
func (g *guard) may(ctx context.Context, verb, namespace, plural, name string) bool {
	if g.authorizer == nil {
		return true
	}
	decision, _, _ := g.authorizer.Authorize(ctx, &authorizer.Attributes{
		User: request.UserFrom(ctx), Verb: verb, Namespace: namespace, Name: name,
		APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: plural, ResourceRequest: true,
	})
	return decision == authorizer.Allow
}

// holds returns an error unless the user holds all of the rules in a namespace.
func (g *guard) holds(ctx context.Context, rules []rbacv1.PolicyRule, namespace string) error {
	if len(rules) == 0 {
		return nil
	}
	u := request.UserFrom(ctx)
	resource, nonResource, _, resolveErr := g.rules.RulesFor(ctx, u, namespace)
	covered, missing := authrbac.Covers(policyRules(resource, nonResource), rules)
	if covered {
		return nil
	}
	msg := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", u.Name,
		u.Groups, authrbac.Describe(missing))
	if resolveErr != nil {
		msg += fmt.Sprintf("; resolution errors: %v", []error{resolveErr})
	}
	return fmt.Errorf("%s", msg)
}

func policyRules(lists ...[]authorizer.Rule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, l := range lists {
		for _, r := range l {
			out = append(out, rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources,
				ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return out
}

// grantRole validates the writing of a role's rules.
func (g *guard) grantRole(ctx context.Context, plural string, role metav1.Object, rules []rbacv1.PolicyRule) error {
	namespace := role.GetNamespace()
	if g.trusted(ctx) || g.may(ctx, "escalate", namespace, plural, role.GetName()) {
		return nil
	}
	if err := g.holds(ctx, rules, namespace); err != nil {
		return forbidden(plural, role.GetName(), err)
	}
	return nil
}

// grantAggregation validates the writing of a role that collects the rules of
// others: it may come to hold anything.
func (g *guard) grantAggregation(ctx context.Context, name string) error {
	if g.trusted(ctx) {
		return nil
	}
	everything := []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}
	if g.holds(ctx, everything, "") != nil {
		return forbidden("clusterroles", name, fmt.Errorf("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

// grantBinding validates the writing of a binding to a role.
func (g *guard) grantBinding(ctx context.Context, plural string, binding metav1.Object, ref rbacv1.RoleRef) error {
	namespace := binding.GetNamespace()
	if g.trusted(ctx) {
		return nil
	}
	roles := "roles"
	if ref.Kind == "ClusterRole" {
		roles = "clusterroles"
	}
	if (ref.Kind == "Role" || ref.Kind == "ClusterRole") && g.may(ctx, "bind", namespace, roles, ref.Name) {
		return nil
	}
	rules, err := g.roleRules(ctx, ref, namespace)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(resource(plural), ref.Name)
	}
	if err != nil {
		return err
	}
	if err := g.holds(ctx, rules, namespace); err != nil {
		return forbidden(plural, binding.GetName(), err)
	}
	return nil
}

func (g *guard) roleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "Role":
		r, err := group.Roles(g.stores).GetConsistent(ctx, namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		return r.Rules, nil
	case "ClusterRole":
		r, err := group.ClusterRoles(g.stores).GetConsistent(ctx, "", ref.Name)
		if err != nil {
			return nil, err
		}
		return r.Rules, nil
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

func forbidden(plural, name string, err error) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: rbacv1.GroupName, Resource: plural}, name, err)
}

// bound is a kind's Go type of the group.
type bound interface {
	comparable
	kind.Object
}

// grants authorizes what a write of an object grants. same reports whether an update grants what the object did before.
type grants[T bound] struct {
	grant func(ctx context.Context, obj, old T) error
	same  func(obj, old T) bool
}

func (g grants[T]) begin(ctx context.Context, obj, old T, _ bool) (func(context.Context, bool), error) {
	var none T
	if old != none && metadataOnly(ctx, obj, old, g.same(obj, old)) {
		return nil, nil
	}
	return nil, g.grant(ctx, obj, old)
}

// metadataOnly reports whether an update changes no more than what garbage
// collection needs to delete the object. A patch may change nothing at all; what
// replaces the object leaves out what only the server writes, and is a change.
func metadataOnly(ctx context.Context, obj, old metav1.Object, same bool) bool {
	info := request.InfoFrom(ctx)
	return same && !check.Differs(obj.GetLabels(), old.GetLabels()) &&
		!check.Differs(obj.GetAnnotations(), old.GetAnnotations()) &&
		(info != nil && info.Verb == "patch" ||
			check.Differs(obj.GetOwnerReferences(), old.GetOwnerReferences()) ||
			check.Differs(obj.GetFinalizers(), old.GetFinalizers()))
}

func joined(values []string) string { return strings.Join(values, ", ") }
