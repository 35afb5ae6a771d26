package roleaggregation

import (
	"cmp"
	"context"
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

type controller struct {
	env    *control.Env
	client rbacv1client.ClusterRoleInterface
	queue  *control.Queue[string]
	// aggregating are the roles with an aggregation rule.
	aggregating control.Keys
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := rbacv1client.NewForConfig(e.As(name))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client.ClusterRoles()}
	c.queue = control.NewQueue(e, "ClusterRoleAggregator", 1, c.sync)
	e.Feed.On(group.ClusterRoles(e.Stores).Resource(), c.changed)
	return c.queue, nil
}

// changed enqueues all roles with an aggregation rule, because any of them may select the changed role, or have
// selected it before.
func (c *controller) changed(o *control.Object) {
	if o.Deleted() {
		c.aggregating.Set(control.KeyOf(o), false)
	} else if role, err := control.Decode(o, &rbacv1.ClusterRole{}); err == nil {
		c.aggregating.Set(control.KeyOf(o), role.AggregationRule != nil)
	}
	for _, key := range c.aggregating.Of("") {
		c.queue.Add(key.Name)
	}
}

// sync updates the rules of a role.
func (c *controller) sync(ctx context.Context, role string) error {
	r, err := group.ClusterRoles(c.env.Stores).GetCached(control.Reading(ctx), "", role)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || r.AggregationRule == nil {
		return err
	}
	all, err := group.ClusterRoles(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	rules, err := collect(r, all)
	if err != nil || equality.Semantic.DeepEqual(rules, r.Rules) {
		return err
	}
	_, err = c.client.Apply(ctx, applyrbacv1.ClusterRole(role).WithRules(configurations(rules)...),
		metav1.ApplyOptions{FieldManager: name, Force: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Aggregate writes the rules of all roles with an aggregation rule, as the controller does.
func Aggregate(ctx context.Context, stores *group.Stores) error {
	for changed := true; changed; { // a role may select one with an aggregation rule
		changed = false
		all, err := group.ClusterRoles(stores).ListConsistent(control.Reading(ctx), "")
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
		for _, r := range all {
			if r.AggregationRule == nil {
				continue
			}
			rules, err := collect(r, all)
			if err != nil || equality.Semantic.DeepEqual(rules, r.Rules) {
				continue
			}
			changed = true
			if _, err := group.StoreOf(group.ClusterRoles(stores)).Modify(control.Reading(ctx), r.Name, nil, false,
				func(r *rbacv1.ClusterRole) error { r.Rules = rules; return nil }); err != nil {
				return err
			}
		}
	}
	return nil
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
