package roleaggregation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	applyrbacv1 "k8s.io/client-go/applyconfigurations/rbac/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const name = "clusterrole-aggregation-controller"

// everything is the one item of the queue: a changed role may be selected by any other, or have been selected before.
const everything = "all"

type controller struct {
	env    *control.Env
	client rbacv1client.ClusterRoleInterface
	queue  *control.Queue[string]
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := rbacv1client.NewForConfig(e.As(name))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client.ClusterRoles()}
	c.queue = control.NewQueue(e, "ClusterRoleAggregator", 1, c.sync)
	e.Feed.On(group.ClusterRoles(e.Stores).Resource(), func(*control.Object) { c.queue.Add(everything) })
	return c.queue, nil
}

// sync updates the rules of all roles with an aggregation rule.
func (c *controller) sync(ctx context.Context, _ string) error {
	all, err := group.ClusterRoles(c.env.Stores).ListShared(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	changes, err := outdated(all)
	errs := []error{err}
	for _, o := range changes {
		_, err := c.client.Apply(ctx, applyrbacv1.ClusterRole(o.role).WithRules(configurations(o.rules)...),
			metav1.ApplyOptions{FieldManager: name, Force: true})
		if !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Aggregate writes the rules of all roles with an aggregation rule, as the controller does.
func Aggregate(ctx context.Context, stores *group.Stores) error {
	for { // a role may select one with an aggregation rule
		all, err := group.ClusterRoles(stores).ListConsistent(control.Reading(ctx), "")
		if err != nil {
			return err
		}
		changes, err := outdated(all)
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, o := range changes {
			if _, err := group.StoreOf(group.ClusterRoles(stores)).Modify(control.Reading(ctx), o.role, nil, false,
				func(r *rbacv1.ClusterRole) error { r.Rules = o.rules; return nil }); err != nil {
				return err
			}
		}
	}
}

// change is a role whose rules are to be others.
type change struct {
	role  string
	rules []rbacv1.PolicyRule
}

// outdated returns the roles with an aggregation rule that do not have the rules of those that they select, and an
// error for each role with an invalid selector. It sorts the roles.
func outdated(all []*rbacv1.ClusterRole) ([]change, error) {
	slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	var changes []change
	var errs []error
	for _, r := range all {
		if r.AggregationRule == nil {
			continue
		}
		rules, err := collect(r, all)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
		} else if !equality.Semantic.DeepEqual(rules, r.Rules) {
			changes = append(changes, change{r.Name, rules})
		}
	}
	return changes, errors.Join(errs...)
}

// collect returns the rules of the roles that r selects, without duplicates.
func collect(r *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	seen := map[string]bool{} // rules in protobuf
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.Name == r.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				text, err := rule.Marshal()
				if err != nil {
					return nil, err
				}
				if !seen[string(text)] {
					seen[string(text)] = true
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

func configurations(rules []rbacv1.PolicyRule) []*applyrbacv1.PolicyRuleApplyConfiguration {
	out := make([]*applyrbacv1.PolicyRuleApplyConfiguration, len(rules))
	for i := range rules {
		r := &rules[i]
		out[i] = applyrbacv1.PolicyRule().WithVerbs(r.Verbs...).WithAPIGroups(r.APIGroups...).WithResources(r.Resources...).
			WithResourceNames(r.ResourceNames...).WithNonResourceURLs(r.NonResourceURLs...)
	}
	return out
}
