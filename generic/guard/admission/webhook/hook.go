package webhook

import (
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/guard/admission/match"
)

// hook is a compiled webhook.
type hook struct {
	// id identifies the webhook as long as its configuration exists.
	id            string
	configuration string
	name          string
	criteria      *match.Criteria
	conditions    expression.Conditions
	ignore        bool // failurePolicy is Ignore
	// dryRun is set if the side effects allow calls for dry-run requests.
	dryRun    bool
	reinvoke  bool
	timeout   time.Duration
	version   string // version of AdmissionReview to send
	client    *client
	clientErr error
}

// spec is the part that webhooks of both kinds have in common.
type spec struct {
	name              string
	client            admissionv1.WebhookClientConfig
	rules             []admissionv1.RuleWithOperations
	failure           *admissionv1.FailurePolicyType
	match             *admissionv1.MatchPolicyType
	namespace, object *metav1.LabelSelector
	sideEffects       *admissionv1.SideEffectClass
	timeout           *int32
	conditions        []admissionv1.MatchCondition
	versions          []string
	reinvocation      *admissionv1.ReinvocationPolicyType
}

func (s *spec) compile(configuration string, o *Config) (*hook, error) {
	criteria, err := match.ForWebhook(s.rules, s.match, s.namespace, s.object)
	if err != nil {
		return nil, fmt.Errorf("webhook %s of %s: %w", s.name, configuration, err)
	}
	h := &hook{
		id: configuration + "/" + s.name, configuration: configuration, name: s.name, criteria: criteria,
		ignore: s.failure != nil && *s.failure == admissionv1.Ignore,
		dryRun: s.sideEffects != nil && (*s.sideEffects == admissionv1.SideEffectClassNone ||
			*s.sideEffects == admissionv1.SideEffectClassNoneOnDryRun),
		reinvoke: s.reinvocation != nil && *s.reinvocation == admissionv1.IfNeededReinvocationPolicy,
		timeout:  defaultTimeout,
		version:  reviewVersion(s.versions),
	}
	if s.timeout != nil {
		h.timeout = time.Duration(*s.timeout) * time.Second
	}
	if len(s.conditions) > 0 {
		c, err := expression.NewCompiler()
		if err != nil {
			return nil, err
		}
		h.conditions = c.Conditions(expression.Scope{Authorizer: true}, s.conditions)
	}
	h.client, h.clientErr = newClient(&s.client, o)
	return h, nil
}

// defaultTimeout applies to webhooks without timeoutSeconds.
const defaultTimeout = 10 * time.Second

// reviewVersion returns the first version in the list that the server supports, or "".
func reviewVersion(versions []string) string {
	for _, v := range versions {
		if v == "v1" || v == "v1beta1" {
			return v
		}
	}
	return "v1"
}

// validating compiles configurations in the order of their names. It reports webhooks that do not compile.
func validating(list []*admissionv1.ValidatingWebhookConfiguration, o *Config, report func(error)) []*hook {
	var hooks []*hook
	for _, c := range sorted(list) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			s := spec{name: w.Name, client: w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
				namespace: w.NamespaceSelector, object: w.ObjectSelector, sideEffects: w.SideEffects, timeout: w.TimeoutSeconds,
				conditions: w.MatchConditions, versions: w.AdmissionReviewVersions}
			hooks = appendHook(hooks, &s, c.Name, o, report)
		}
	}
	return hooks
}

// mutating compiles configurations in the order of their names. It reports webhooks that do not compile.
func mutating(list []*admissionv1.MutatingWebhookConfiguration, o *Config, report func(error)) []*hook {
	var hooks []*hook
	for _, c := range sorted(list) {
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			s := spec{name: w.Name, client: w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
				namespace: w.NamespaceSelector, object: w.ObjectSelector, sideEffects: w.SideEffects, timeout: w.TimeoutSeconds,
				conditions: w.MatchConditions, versions: w.AdmissionReviewVersions, reinvocation: w.ReinvocationPolicy}
			hooks = appendHook(hooks, &s, c.Name, o, report)
		}
	}
	return hooks
}

func appendHook(hooks []*hook, s *spec, configuration string, o *Config, report func(error)) []*hook {
	h, err := s.compile(configuration, o)
	if err != nil {
		report(err)
		return hooks
	}
	return append(hooks, h)
}

func sorted[T metav1.Object](list []T) []T {
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b T) int {
		switch {
		case a.GetName() < b.GetName():
			return -1
		case a.GetName() > b.GetName():
			return 1
		}
		return 0
	})
	return out
}
