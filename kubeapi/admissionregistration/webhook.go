package admissionregistration

import (
	"context"
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/defaults"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

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
	k.Representation = kept(registry.Typed[conf]{Former: formerValidating()})
	k.Write.Default = func(c conf) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
		}
	}
	k.Write.PrepareForUpdate = func(_ context.Context, c, old conf) {
		webhooksGeneration(c, old, c.Webhooks, old.Webhooks)
	}
	k.Show.Columns = webhookColumns()
	k.Show.Cells = func(c conf, since func(metav1.Time) string) []any {
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
	k.Representation = kept(registry.Typed[conf]{Former: formerMutating()})
	k.Write.Default = func(c conf) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
			defaults.Set(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		}
	}
	k.Write.PrepareForUpdate = func(_ context.Context, c, old conf) {
		webhooksGeneration(c, old, c.Webhooks, old.Webhooks)
	}
	k.Show.Columns = webhookColumns()
	k.Show.Cells = func(c conf, since func(metav1.Time) string) []any {
		return []any{c.Name, int64(len(c.Webhooks)), since(c.CreationTimestamp)}
	}
	return k
}

// webhooksGeneration counts a change of webhooks, where, unlike elsewhere in the
// API, an empty list or CA bundle differs from an absent one.
func webhooksGeneration(c, old metav1.Object, hooks, before any) {
	strategy.Generation(c, old, !reflect.DeepEqual(hooks, before))
}

func webhookColumns() []registry.Column {
	return []registry.Column{show.Name(), show.Int("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"), show.Age()}
}

func defaultWebhook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, timeout **int32,
	client *admissionv1.WebhookClientConfig, rules []admissionv1.RuleWithOperations) {
	defaults.Set(failure, admissionv1.Fail)
	defaults.Set(match, admissionv1.Equivalent)
	defaults.Set(timeout, 10)
	if client.Service != nil {
		defaults.Set(&client.Service.Port, 443)
	}
	for i := range rules {
		defaultRule(&rules[i].Rule)
	}
}
