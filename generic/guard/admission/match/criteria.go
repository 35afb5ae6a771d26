package match

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/guard/admission"
)

// Namespaces returns a namespace. Its error is an API status.
type Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

// Criteria decide whether a webhook or policy applies to an operation. They are immutable.
type Criteria struct {
	rules   []rule
	exclude []rule
	// anything is set for criteria without rules: only selectors and exclusions apply.
	anything          bool
	exact             bool
	namespace, object labels.Selector
}

// New compiles the criteria of a policy or binding. With m nil, or without rules, they match every resource.
func New(m *admissionv1.MatchResources) (*Criteria, error) {
	if m == nil {
		return &Criteria{anything: true}, nil
	}
	c, err := criteria(m.MatchPolicy, m.NamespaceSelector, m.ObjectSelector)
	if err != nil {
		return nil, err
	}
	c.anything = len(m.ResourceRules) == 0
	for i := range m.ResourceRules {
		c.rules = append(c.rules, newRule(&m.ResourceRules[i].RuleWithOperations, m.ResourceRules[i].ResourceNames))
	}
	for i := range m.ExcludeResourceRules {
		c.exclude = append(c.exclude, newRule(&m.ExcludeResourceRules[i].RuleWithOperations,
			m.ExcludeResourceRules[i].ResourceNames))
	}
	return c, nil
}

// ForWebhook compiles the criteria of a webhook.
func ForWebhook(rules []admissionv1.RuleWithOperations, policy *admissionv1.MatchPolicyType, namespace,
	object *metav1.LabelSelector) (*Criteria, error) {
	c, err := criteria(policy, namespace, object)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		c.rules = append(c.rules, newRule(&rules[i], nil))
	}
	return c, nil
}

func criteria(policy *admissionv1.MatchPolicyType, namespace, object *metav1.LabelSelector) (*Criteria, error) {
	c := &Criteria{exact: policy != nil && *policy == admissionv1.Exact}
	var err error
	if c.namespace, err = selector(namespace); err != nil {
		return nil, err
	}
	c.object, err = selector(object)
	return c, err
}

// selector compiles a label selector; nil means that it selects everything.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || out.Empty() {
		return nil, err
	}
	return out, nil
}

// Match reports whether the criteria match an operation, and in which version to convert the object for the
// webhook or policy. The error is that of reading the namespace.
func (c *Criteria) Match(ctx context.Context, a *admission.Attributes, namespaces Namespaces) (schema.GroupVersion,
	bool, error) {
	gv := a.Resource.GroupVersion()
	if !c.anything {
		var ok bool
		if gv, ok = find(c.rules, a, c.exact); !ok {
			return gv, false, nil
		}
	}
	if c.object != nil && !labelled(c.object, a.Object) && !labelled(c.object, a.OldObject) {
		return gv, false, nil
	}
	if _, ok := find(c.exclude, a, c.exact); ok {
		return gv, false, nil
	}
	ok, err := c.inNamespace(ctx, a, namespaces)
	return gv, ok, err
}

func labelled(s labels.Selector, obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	m, err := meta.Accessor(obj)
	return err == nil && s.Matches(labels.Set(m.GetLabels()))
}

// inNamespace matches the labels of the operation's namespace. For an operation on a namespace object these are
// the object's own labels.
func (c *Criteria) inNamespace(ctx context.Context, a *admission.Attributes, namespaces Namespaces) (bool, error) {
	if c.namespace == nil {
		return true, nil
	}
	if isNamespace(a) && a.Subresource == "" && (a.Operation == admission.Create || a.Operation == admission.Update) {
		return labelled(c.namespace, a.Object), nil
	}
	if a.Namespace == "" {
		return true, nil
	}
	ns, err := namespaces(ctx, a.Namespace)
	if err != nil {
		return false, err
	}
	return c.namespace.Matches(labels.Set(ns.Labels)), nil
}

// Exempt reports whether no webhook is called for an operation: writes of webhook configurations and policies,
// so that a broken webhook can be repaired.
func Exempt(a *admission.Attributes) bool {
	if Policy(a) {
		return true
	}
	return a.Resource.Group == admissionv1.GroupName &&
		(a.Resource.Resource == "validatingwebhookconfigurations" || a.Resource.Resource == "mutatingwebhookconfigurations")
}

// Policy reports whether an operation is on policies or their bindings, to which policies do not apply.
// Policies do apply to webhook configurations.
func Policy(a *admission.Attributes) bool {
	if a.Resource.Group != admissionv1.GroupName {
		return false
	}
	switch a.Resource.Resource {
	case "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
		"mutatingadmissionpolicybindings":
		return true
	}
	return false
}

// Review reports whether an operation creates an authentication or authorization review, to which policies do
// not apply, and webhooks only without the feature gate ExcludeAdmissionWebhookVirtualResources.
func Review(a *admission.Attributes) bool {
	switch a.Resource.Group {
	case "authentication.k8s.io":
		return a.Resource.Resource == "selfsubjectreviews" || a.Resource.Resource == "tokenreviews"
	case "authorization.k8s.io":
		return true
	}
	return false
}
