package admissionregistration

import (
	"context"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	genericwebhook "triplane.dev/generic/guard/webhook"
	"triplane.dev/kubeapi/check"
)

const maxMatchConditions = 64

// webhook is what webhooks of both kinds have.
type webhook struct {
	name         string
	client       admissionv1.WebhookClientConfig
	rules        []admissionv1.RuleWithOperations
	failure      *admissionv1.FailurePolicyType
	match        *admissionv1.MatchPolicyType
	sideEffects  *admissionv1.SideEffectClass
	timeout      *int32
	namespace    *metav1.LabelSelector
	object       *metav1.LabelSelector
	reinvocation *admissionv1.ReinvocationPolicyType
	conditions   []admissionv1.MatchCondition
	versions     []string
}

func fromValidating(w *admissionv1.ValidatingWebhook) webhook {
	return webhook{name: w.Name, client: w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
		sideEffects: w.SideEffects,
		timeout:     w.TimeoutSeconds, namespace: w.NamespaceSelector, object: w.ObjectSelector,
		conditions: w.MatchConditions,
		versions:   w.AdmissionReviewVersions}
}

func fromMutating(w *admissionv1.MutatingWebhook) webhook {
	return webhook{name: w.Name, client: w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
		sideEffects: w.SideEffects,
		timeout:     w.TimeoutSeconds, namespace: w.NamespaceSelector, object: w.ObjectSelector,
		conditions:   w.MatchConditions,
		versions:     w.AdmissionReviewVersions,
		reinvocation: w.ReinvocationPolicy}
}

func validateWebhooks(ctx context.Context, hooks []webhook) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range hooks {
		path := field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(ctx, &hooks[i], path)...)
		errs = append(errs, validateVersions(hooks[i].versions, path.Child("admissionReviewVersions"))...)
		if name := hooks[i].name; name != "" {
			if seen[name] {
				errs = append(errs, field.Duplicate(path.Child("name"), name))
			}
			seen[name] = true
		}
	}
	return errs
}

func validateWebhook(ctx context.Context, w *webhook, path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), w.name)
	for i := range w.rules {
		errs = append(errs, validateOperations(&w.rules[i], path.Child("rules").Index(i))...)
	}
	if w.failure != nil {
		errs = append(errs, check.OneOf(*w.failure, path.Child("failurePolicy"), admissionv1.Fail, admissionv1.Ignore)...)
	}
	if w.match != nil {
		errs = append(errs, check.OneOf(*w.match, path.Child("matchPolicy"), admissionv1.Equivalent, admissionv1.Exact)...)
	}
	if w.sideEffects == nil {
		errs = append(errs, field.Required(path.Child("sideEffects"), "must specify one of None, NoneOnDryRun"))
	} else {
		errs = append(errs, check.OneOf(*w.sideEffects, path.Child("sideEffects"), admissionv1.SideEffectClassNone,
			admissionv1.SideEffectClassNoneOnDryRun)...)
	}
	if t := w.timeout; t != nil && (*t > 30 || *t < 1) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *t,
			"the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, validateSelector(w.namespace, path.Child("namespaceSelector"))...)
	errs = append(errs, validateSelector(w.object, path.Child("objectSelector"))...)
	if w.reinvocation != nil {
		errs = append(errs, check.OneOf(*w.reinvocation, path.Child("reinvocationPolicy"),
			admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)...)
	}
	client := path.Child("clientConfig")
	switch c := &w.client; {
	case (c.URL == nil) == (c.Service == nil):
		errs = append(errs, field.Required(client, "exactly one of url or service is required"))
	case c.URL != nil:
		errs = append(errs, genericwebhook.ValidateURL(*c.URL, client.Child("url"))...)
	default:
		errs = append(errs, validateService(c.Service, client.Child("service"))...)
	}
	return append(errs, validateConditions(w.conditions, ofWebhook(ctx), path.Child("matchConditions"))...)
}

func validateSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, path)
}

func validateVersions(versions []string, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of v1, v1beta1")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, v := range versions {
		if seen[v] {
			errs = append(errs, field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		seen[v] = true
		errs = append(errs, check.Name(validation.IsDNS1035Label(v), v, path.Index(i))...)
	}
	if !seen["v1"] && !seen["v1beta1"] {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of v1, v1beta1"))
	}
	return errs
}

// validateService names, as kube-apiserver does, the namespace where the name is
// missing and the name where the namespace is.
func validateService(s *admissionv1.ServiceReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return append(errs, genericwebhook.ValidateEndpoint(s.Port, s.Path, path)...)
}

func validateConditions(cs []admissionv1.MatchCondition, x *expressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(cs) > maxMatchConditions {
		return field.ErrorList{field.TooMany(path, len(cs), maxMatchConditions)}
	}
	seen := map[string]bool{}
	for i, c := range cs {
		at := path.Index(i)
		if strings.TrimSpace(c.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, x.condition(c.Expression, at.Child("expression"))...)
		}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, check.QualifiedName(c.Name, at.Child("name"))...)
		if seen[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		seen[c.Name] = true
	}
	return errs
}
