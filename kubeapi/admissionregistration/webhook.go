package admissionregistration

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/defaults"
)

func validatingWebhookKind(r rules) kind.Kind[*admissionv1.ValidatingWebhookConfiguration] {
	type conf = admissionv1.ValidatingWebhookConfiguration
	hooks := webhooksOf[*conf, admissionv1.ValidatingWebhook]{
		all:  func(c *conf) []admissionv1.ValidatingWebhook { return c.Webhooks },
		view: fromValidating,
		setDefaults: func(w *admissionv1.ValidatingWebhook) {
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
		},
	}
	k := webhookKind(r, hooks)
	k.Representation = kept(kind.Typed[*conf]{Former: formerValidating()})
	return k
}

func mutatingWebhookKind(r rules) kind.Kind[*admissionv1.MutatingWebhookConfiguration] {
	type conf = admissionv1.MutatingWebhookConfiguration
	hooks := webhooksOf[*conf, admissionv1.MutatingWebhook]{
		all:  func(c *conf) []admissionv1.MutatingWebhook { return c.Webhooks },
		view: fromMutating,
		setDefaults: func(w *admissionv1.MutatingWebhook) {
			defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
			defaultSelectors(&w.NamespaceSelector, &w.ObjectSelector)
			defaults.Set(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		},
	}
	k := webhookKind(r, hooks)
	k.Representation = kept(kind.Typed[*conf]{Former: formerMutating()})
	return k
}

// webhooksOf are the webhooks of type W in configurations of type T.
type webhooksOf[T kind.Object, W any] struct {
	all         func(T) []W
	view        func(*W) webhook // the fields that webhooks of both types have
	setDefaults func(*W)
}

// webhookKind is what the configurations of validating and mutating webhooks have in common.
func webhookKind[T kind.Object, W any](r rules, hooks webhooksOf[T, W]) kind.Kind[T] {
	k := configuration(r,
		func(ctx context.Context, c T) field.ErrorList {
			views := make([]webhook, len(hooks.all(c)))
			for i := range views {
				views[i] = hooks.view(&hooks.all(c)[i])
			}
			return validateWebhooks(ctx, views)
		}, nil)
	if reserved := k.Write.Warnings; r.noReviews {
		k.Write.Warnings = func(ctx context.Context, c, old T) []string {
			warnings := reserved(ctx, c, old)
			for i := range hooks.all(c) {
				warnings = append(warnings, reviewWarnings(hooks.view(&hooks.all(c)[i]).rules,
					field.NewPath("webhooks").Index(i).Child("rules"))...)
			}
			return warnings
		}
	}
	k.Write.Default = func(c T) {
		for i := range hooks.all(c) {
			hooks.setDefaults(&hooks.all(c)[i])
		}
	}
	// Unlike elsewhere in the API, an empty list or CA bundle differs from an absent one.
	k.Write.Changed = func(c, old T) bool { return !reflect.DeepEqual(hooks.all(c), hooks.all(old)) }
	k.Columns = show.Columns(show.Field("Webhooks", "webhooks",
		"Webhooks indicates the number of webhooks registered in this configuration"))

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
