package admission

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/metrics"
)

// Phase is one of the two phases of admission.
type Phase int

// The phases.
const (
	Mutating Phase = iota
	Validating
)

// String returns the label "type" of plugins and phases.
func (p Phase) String() string { return [...]string{"admit", "validate"}[p] }

// called returns the label "type" of webhooks, policies and match conditions.
func (p Phase) called() string { return [...]string{"admit", "validating"}[p] }

// Metrics has the metrics of admission. A nil Metrics counts nothing. It is safe for concurrent use.
type Metrics struct {
	plugins    *prometheus.HistogramVec
	steps      *prometheus.HistogramVec
	summaries  *prometheus.SummaryVec
	step       [2]admissionSeries
	webhook    webhookMetrics
	conditions conditionMetrics
	validating policyMetrics
	mutating   policyMetrics

	certificates *egress.CertificateMetrics

	pruning      sync.Mutex
	namesMu      sync.Mutex
	webhookNames [2][]func() []string
	policyNames  [2][]func() map[string][]string
}

// webhookMetrics are the metrics of calls of webhooks.
type webhookMetrics struct {
	took                           *prometheus.HistogramVec
	calls, rejections, failedOpens *prometheus.CounterVec
}

// conditionMetrics are the metrics of match conditions.
type conditionMetrics struct {
	took               *prometheus.HistogramVec
	errors, exclusions *prometheus.CounterVec
}

// policyMetrics are the metrics of policies of one kind.
type policyMetrics struct {
	took   *prometheus.HistogramVec
	checks *prometheus.CounterVec
}

const admissionPrefix = "apiserver_admission_"

// NewMetrics registers the metrics. It returns nil for a nil registry, and for one that is not gathered.
func NewMetrics(r *metrics.Registry) *Metrics {
	if !r.Gathers() {
		return nil
	}
	outcome := []string{"type", "operation", "rejected"}
	buckets := []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5}
	a := &Metrics{
		plugins: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: admissionPrefix +
			"controller_admission_duration_seconds", Buckets: buckets,
			Help: "Seconds that an admission plugin took, by phase, operation and whether it denied the request."},
			append([]string{"name"}, outcome...)),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: admissionPrefix + "step_admission_duration_seconds",
			Buckets: buckets,
			Help:    "Seconds that a phase of admission took, by operation and whether a plugin denied the request."}, outcome),
		summaries: prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: admissionPrefix +
			"step_admission_duration_seconds_summary", MaxAge: 5 * time.Hour,
			Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001},
			Help: "Seconds that a phase of admission took, by operation and whether a plugin denied the request, " +
				"as quantiles of some hours."}, outcome),
		webhook: newWebhookMetrics(r), conditions: newConditionMetrics(r),
		validating:   newPolicyMetrics(r, "validating", "enforcement_action"),
		mutating:     newPolicyMetrics(r, "mutating"),
		certificates: egress.NewWebhookCertificateMetrics(r),
	}
	r.MustRegister(a.plugins, a.steps, a.summaries)
	r.BeforeGather(a.Prune)
	return a
}

// Certificates returns the metrics of webhooks' certificates.
func (a *Metrics) Certificates() *egress.CertificateMetrics {
	if a == nil {
		return nil
	}
	return a.certificates
}

func newWebhookMetrics(r prometheus.Registerer) webhookMetrics {
	m := webhookMetrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: admissionPrefix +
			"webhook_admission_duration_seconds",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25},
			Help:    "Seconds that a webhook took, by operation and whether it denied the request."},
			[]string{"name", "type", "operation", "rejected"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionPrefix + "webhook_request_total",
			Help: "Calls of a webhook, by operation, HTTP status and whether it denied the request."},
			[]string{"name", "type", "operation", "code", "rejected"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionPrefix + "webhook_rejection_count",
			Help: "Requests that were denied because of a webhook, by reason and HTTP status."},
			[]string{"name", "type", "operation", "error_type", "rejection_code"}),
		failedOpens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionPrefix + "webhook_fail_open_count",
			Help: "Failed calls of a webhook that were ignored."}, []string{"name", "type"}),
	}
	r.MustRegister(m.took, m.calls, m.rejections, m.failedOpens)
	return m
}

func newConditionMetrics(r prometheus.Registerer) conditionMetrics {
	labels := []string{"name", "kind", "type", "operation"}
	m := conditionMetrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: admissionPrefix +
			"match_condition_evaluation_seconds",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25},
			Help:    "Seconds that the match conditions of a webhook or policy took."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionPrefix +
			"match_condition_evaluation_errors_total",
			Help: "Evaluations of match conditions that failed."}, labels),
		exclusions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionPrefix +
			"match_condition_exclusions_total",
			Help: "Operations that match conditions kept from a webhook or policy."}, labels),
	}
	r.MustRegister(m.took, m.errors, m.exclusions)
	return m
}

func newPolicyMetrics(r prometheus.Registerer, kind string, more ...string) policyMetrics {
	prefix := "apiserver_" + kind + "_admission_policy_"
	labels := append([]string{"policy", "policy_binding", "error_type"}, more...)
	m := policyMetrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "check_duration_seconds",
			Buckets: []float64{0.0000005, 0.001, 0.01, 0.1, 1},
			Help:    "Seconds that a " + kind + " policy took, by binding and what followed."}, labels),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "check_total",
			Help: "Evaluations of a " + kind + " policy, by binding and what followed."}, labels),
	}
	r.MustRegister(m.took, m.checks)
	return m
}

// admissionSeries are the observers of a phase or plugin, by operation and result.
type admissionSeries [4][2]metrics.Lazy[[]prometheus.Observer]

// operationIndex returns the index of an operation in admissionSeries.
func operationIndex(operation string) int {
	switch operation {
	case "CREATE":
		return 0
	case "UPDATE":
		return 1
	case "DELETE":
		return 2
	}
	return 3 // CONNECT
}

func (s *admissionSeries) observe(operation string, refused bool, took time.Duration,
	find func() []prometheus.Observer) {
	outcome := 0
	if refused {
		outcome = 1
	}
	for _, o := range s[operationIndex(operation)][outcome].Get(find) {
		o.Observe(took.Seconds())
	}
}

// Step counts a phase of a request.
func (a *Metrics) Step(phase Phase, operation string, refused bool, took time.Duration) {
	if a == nil {
		return
	}
	a.step[phase].observe(operation, refused, took, func() []prometheus.Observer {
		labels := []string{phase.String(), operation, strconv.FormatBool(refused)}
		return []prometheus.Observer{a.steps.WithLabelValues(labels...), a.summaries.WithLabelValues(labels...)}
	})
}

// PluginMetrics has the metrics of one plugin. A nil PluginMetrics counts nothing.
type PluginMetrics struct {
	owner *Metrics
	name  string
	phase [2]admissionSeries
}

// Plugin returns the metrics of a plugin.
func (a *Metrics) Plugin(name string) *PluginMetrics {
	if a == nil {
		return nil
	}
	return &PluginMetrics{owner: a, name: name}
}

// Took counts a call of the plugin.
func (p *PluginMetrics) Took(phase Phase, operation string, refused bool, took time.Duration) {
	if p == nil {
		return
	}
	p.phase[phase].observe(operation, refused, took, func() []prometheus.Observer {
		return []prometheus.Observer{p.owner.plugins.WithLabelValues(p.name, phase.String(), operation,
			strconv.FormatBool(refused))}
	})
}

// Reasons of a denial by a webhook, in the label "error_type".
const (
	WebhookRefused       = "no_error"
	WebhookFailed        = "calling_webhook_error"
	WebhookInternalError = "apiserver_internal_error"
)

// maxRejectionCode limits the codes in labels, because webhooks can return any number.
const maxRejectionCode = 600

// Called is a webhook or policy that is called for an operation.
type Called struct {
	Phase     Phase
	Name      string
	Operation Operation
}

// Webhook counts a call of a webhook. code is its HTTP status, or 0 without one.
func (a *Metrics) Webhook(c Called, denied bool, code int, took time.Duration) {
	if a == nil {
		return
	}
	kind, operation, rejected := c.Phase.called(), string(c.Operation), strconv.FormatBool(denied)
	a.webhook.took.WithLabelValues(c.Name, kind, operation, rejected).Observe(took.Seconds())
	a.webhook.calls.WithLabelValues(c.Name, kind, operation, strconv.Itoa(min(code, maxRejectionCode)), rejected).Inc()
}

// WebhookRejection counts a request that was denied because of a webhook. code is that of the denial, or 0 if
// the call failed.
func (a *Metrics) WebhookRejection(c Called, why string, code int) {
	if a != nil {
		a.webhook.rejections.WithLabelValues(c.Name, c.Phase.called(), string(c.Operation), why,
			strconv.Itoa(min(code, maxRejectionCode))).Inc()
	}
}

// WebhookFailedOpen counts a failed call that was ignored.
func (a *Metrics) WebhookFailedOpen(c Called) {
	if a != nil {
		a.webhook.failedOpens.WithLabelValues(c.Name, c.Phase.called()).Inc()
	}
}

// Conditions counts an evaluation of match conditions; kind is "webhook" or "policy".
func (a *Metrics) Conditions(c Called, kind string, matched bool, err error, took time.Duration) {
	if a == nil {
		return
	}
	labels := []string{c.Name, kind, c.Phase.called(), string(c.Operation)}
	a.conditions.took.WithLabelValues(labels...).Observe(took.Seconds())
	switch {
	case err != nil:
		a.conditions.errors.WithLabelValues(labels...).Inc()
	case !matched:
		a.conditions.exclusions.WithLabelValues(labels...).Inc()
	}
}

// Results of a policy, in the label "enforcement_action".
const (
	PolicyAllowed = "allow"
	PolicyDenied  = "deny"
	PolicyAudited = "audit"
	PolicyWarned  = "warn"
)

// Errors of the evaluation of a policy, in the label "error_type".
const (
	PolicyNoError      = "no_error"
	PolicyCompileError = "compile_error"
	PolicyInvalidError = "invalid_error"
	PolicyOverBudget   = "out_of_budget"
)

// PolicyResult is the result of the evaluation of a policy with a binding. Action is for validating policies alone.
type PolicyResult struct{ Policy, Binding, ErrorType, Action string }

// Policy counts an evaluation of a policy.
func (a *Metrics) Policy(phase Phase, r PolicyResult, took time.Duration) {
	if a == nil {
		return
	}
	m, labels := &a.mutating, []string{r.Policy, r.Binding, r.ErrorType}
	if phase == Validating {
		m, labels = &a.validating, append(labels, r.Action)
	}
	m.took.WithLabelValues(labels...).Observe(took.Seconds())
	m.checks.WithLabelValues(labels...).Inc()
}
