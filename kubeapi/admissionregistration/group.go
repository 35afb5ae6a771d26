// Package admissionregistration declares the kinds of the group
// admissionregistration.k8s.io/v1: configurations of webhooks, and admission
// policies with their bindings. What expressions mean is not judged here but by
// the policies' own room when it compiles them.
package admissionregistration

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/generic/server"
	"triplane/kubeapi/check"
	"triplane/kubeapi/group"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

var v1 = admissionv1.SchemeGroupVersion

const unset = "<unset>"

// Group builds admissionregistration.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, admissionv1.GroupName, "v1")
	group.Add(b, validatingWebhookKind())
	group.Add(b, mutatingWebhookKind())
	group.Add(b, validatingPolicyKind())
	group.Add(b, validatingBindingKind())
	group.Add(b, mutatingPolicyKind())
	group.Add(b, mutatingBindingKind())
	return b.Info()
}

// configuration is what all kinds of the group have in common.
func configuration[T registry.Object](kind, plural, singular string, newObject func() T, newList func() runtime.Object,
	content func(T) any, validate func(T) field.ErrorList) registry.Kind[T] {
	return registry.Kind[T]{
		Hub: v1.WithKind(kind), Plural: plural, Singular: singular, Categories: []string{"api-extensions"},
		New: newObject, NewList: newList,
		PrepareForCreate: func(_ context.Context, o T) { o.SetGeneration(1) },
		PrepareForUpdate: func(_ context.Context, o, old T) {
			strategy.Generation(o, old, check.Differs(content(o), content(old)))
		},
		Validate:       func(_ context.Context, o T) field.ErrorList { return validate(o) },
		ValidateUpdate: func(_ context.Context, o, _ T) field.ErrorList { return validate(o) },
	}
}

func setDefault[V any](p **V, v V) {
	if *p == nil {
		*p = ptr.To(v)
	}
}

func defaultRule(r *admissionv1.Rule) { setDefault(&r.Scope, admissionv1.AllScopes) }

func defaultSelectors(selectors ...**metav1.LabelSelector) {
	for _, s := range selectors {
		setDefault(s, metav1.LabelSelector{})
	}
}

func validatingWebhookKind() registry.Kind[*admissionv1.ValidatingWebhookConfiguration] {
	type conf = *admissionv1.ValidatingWebhookConfiguration
	k := configuration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validatingwebhookconfiguration",
		func() conf { return &admissionv1.ValidatingWebhookConfiguration{} },
		func() runtime.Object { return &admissionv1.ValidatingWebhookConfigurationList{} },
		func(c conf) any { return c.Webhooks },
		func(c conf) field.ErrorList {
			hooks := make([]webhook, len(c.Webhooks))
			for i := range c.Webhooks {
				hooks[i] = fromValidating(&c.Webhooks[i])
			}
			return validateWebhooks(hooks)
		})
	k.Default = func(c conf) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
		}
	}
	k.Columns = webhookColumns()
	k.CellsAt = func(c conf, since func(metav1.Time) string) []any {
		return []any{c.Name, int64(len(c.Webhooks)), since(c.CreationTimestamp)}
	}
	return k
}

func mutatingWebhookKind() registry.Kind[*admissionv1.MutatingWebhookConfiguration] {
	type conf = *admissionv1.MutatingWebhookConfiguration
	k := configuration("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
		func() conf { return &admissionv1.MutatingWebhookConfiguration{} },
		func() runtime.Object { return &admissionv1.MutatingWebhookConfigurationList{} },
		func(c conf) any { return c.Webhooks },
		func(c conf) field.ErrorList {
			hooks := make([]webhook, len(c.Webhooks))
			for i := range c.Webhooks {
				hooks[i] = fromMutating(&c.Webhooks[i])
			}
			return validateWebhooks(hooks)
		})
	k.Default = func(c conf) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
			setDefault(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		}
	}
	k.Columns = webhookColumns()
	k.CellsAt = func(c conf, since func(metav1.Time) string) []any {
		return []any{c.Name, int64(len(c.Webhooks)), since(c.CreationTimestamp)}
	}
	return k
}

func webhookColumns() []registry.Column {
	return []registry.Column{show.Name(), show.Int("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"), show.Age()}
}

func defaultWebhook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, timeout **int32,
	client *admissionv1.WebhookClientConfig, rules []admissionv1.RuleWithOperations) {
	setDefault(failure, admissionv1.Fail)
	setDefault(match, admissionv1.Equivalent)
	setDefault(timeout, 10)
	if client.Service != nil {
		setDefault(&client.Service.Port, 443)
	}
	for i := range rules {
		defaultRule(&rules[i].Rule)
	}
}
