package admissionregistration

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/registry"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

func validatingWebhookKind(r rules) registry.Kind[*admissionv1.ValidatingWebhookConfiguration] {
	type conf = admissionv1.ValidatingWebhookConfiguration
	k := webhookKind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", r,
		func(c *conf) []admissionv1.ValidatingWebhook { return c.Webhooks },
		fromValidating,
		func(w *admissionv1.ValidatingWebhook) {
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
		})
	k.Representation = kept(registry.Typed[*conf]{Former: formerValidating()})
	return k
}

func mutatingWebhookKind(r rules) registry.Kind[*admissionv1.MutatingWebhookConfiguration] {
	type conf = admissionv1.MutatingWebhookConfiguration
	k := webhookKind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", r,
		func(c *conf) []admissionv1.MutatingWebhook { return c.Webhooks },
		fromMutating,
		func(w *admissionv1.MutatingWebhook) {
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
			defaults.Set(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		})
	k.Representation = kept(registry.Typed[*conf]{Former: formerMutating()})
	return k
}

// webhookKind is what the configurations of validating and mutating webhooks
// have in common: hooks returns those of a configuration, view the fields that
// both sorts have.
func webhookKind[T registry.Object, W any](kind, plural string, r rules,
	hooks func(T) []W, view func(*W) webhook, setDefaults func(*W)) registry.Kind[T] {
	k := configuration(kind, plural, r,
		func(ctx context.Context, c T) field.ErrorList {
			views := make([]webhook, len(hooks(c)))
			for i := range views {
				views[i] = view(&hooks(c)[i])
			}
			return validateWebhooks(ctx, views)
		}, nil)
	if reserved := k.Write.Warnings; r.noReviews {
		k.Write.Warnings = func(ctx context.Context, c, old T) []string {
			warnings := reserved(ctx, c, old)
			for i := range hooks(c) {
				warnings = append(warnings, reviewWarnings(view(&hooks(c)[i]).rules,
					field.NewPath("webhooks").Index(i).Child("rules"))...)
			}
			return warnings
		}
	}
	k.Write.Default = func(c T) {
		for i := range hooks(c) {
			setDefaults(&hooks(c)[i])
		}
	}
	// Unlike elsewhere in the API, an empty list or CA bundle differs from an absent one.
	k.Write.Changed = func(c, old T) bool { return !reflect.DeepEqual(hooks(c), hooks(old)) }
	k.Show.Columns = webhookColumns()
	k.Show.Cells = func(c T, since func(metav1.Time) string) []any {
		return []any{c.GetName(), int64(len(hooks(c))), since(c.GetCreationTimestamp())}
	}
	return k
}

// reviewWarnings returns a warning for each review that a rule names.
func reviewWarnings(rules []admissionv1.RuleWithOperations, path *field.Path) []string {
	var warnings []string
	for i := range rules {
		if slices.Contains(rules[i].Resources, "*") {
			continue
		}
		for _, group := range rules[i].APIGroups {
			for _, resource := range rules[i].Resources {
				if isReview(group, resource) {
					warnings = append(warnings, fmt.Sprintf(
						"%s: %s.%s is excluded from admission webhooks; this rule will have no effect", path.Index(i), resource, group))
				}
			}
		}
	}
	return warnings
}

func isReview(group, resource string) bool {
	switch group {
	case "authentication.k8s.io":
		return resource == "selfsubjectreviews" || resource == "tokenreviews"
	case "authorization.k8s.io":
		switch resource {
		case "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews":
			return true
		}
	}
	return false
}

func webhookColumns() []registry.Column {
	return []registry.Column{show.Name(), show.Int("Webhooks",
		"Webhooks indicates the number of webhooks registered in this configuration"), show.Age()}
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
