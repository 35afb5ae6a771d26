package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/defaults"
)

const (
	alpha1 = "v1alpha1"
	beta1  = "v1beta1"
)

// Webhooks of the beta fail open, match exactly, may take 30 s, need not say which
// reviews they read nor whether they have side effects.

func formerValidating() []kind.Version[*admissionv1.ValidatingWebhookConfiguration] {
	out := kind.SameFields[*admissionv1.ValidatingWebhookConfiguration](beta1)
	out[0].Default = kind.DefaultOf(func(c *admissionv1.ValidatingWebhookConfiguration) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultBeta(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	})
	return out
}

func formerMutating() []kind.Version[*admissionv1.MutatingWebhookConfiguration] {
	out := kind.SameFields[*admissionv1.MutatingWebhookConfiguration](beta1)
	out[0].Default = kind.DefaultOf(func(c *admissionv1.MutatingWebhookConfiguration) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			defaultBeta(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	})
	return out
}

func defaultBeta(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType,
	effects **admissionv1.SideEffectClass, seconds **int32, reviews *[]string) {
	defaults.Set(failure, admissionv1.Ignore)
	defaults.Set(match, admissionv1.Exact)
	defaults.Set(effects, admissionv1.SideEffectClassUnknown)
	defaults.Set(seconds, 30)
	if len(*reviews) == 0 {
		*reviews = []string{"v1beta1"}
	}
}
