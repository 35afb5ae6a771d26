package metrics

import "github.com/prometheus/client_golang/prometheus"

// PodSecurity counts the decisions of the admission plugin PodSecurity. A nil PodSecurity counts nothing.
type PodSecurity struct{ evaluations, exemptions, errors *prometheus.CounterVec }

func newPodSecurity(r prometheus.Registerer) *PodSecurity {
	what := []string{"request_operation", "resource", "subresource"}
	m := &PodSecurity{
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_evaluations_total",
			Help: "Pods and templates of pods that were compared with a level, by decision."},
			append([]string{"decision", "policy_level", "policy_version", "mode"}, what...)),
		exemptions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_exemptions_total",
			Help: "Requests that are exempt from levels."}, what),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_errors_total",
			Help: "Errors that prevented a comparison with a level."}, append([]string{"fatal"}, what...)),
	}
	r.MustRegister(m.evaluations, m.exemptions, m.errors)
	for _, operation := range []string{"create", "update"} {
		for _, resource := range []string{"pod", "controller"} {
			m.exemptions.WithLabelValues(operation, resource, "")
		}
	}
	return m
}

// PodSecurityRequest describes a request. Resource is pod, controller or namespace.
type PodSecurityRequest struct{ Operation, Resource, Subresource string }

// Evaluated counts an evaluation in the mode enforce, audit or warn.
func (m *PodSecurity) Evaluated(allowed bool, level, version, mode string, q PodSecurityRequest) {
	if m == nil {
		return
	}
	decision := "deny"
	if allowed {
		decision = "allow"
	}
	m.evaluations.WithLabelValues(decision, level, version, mode, q.Operation, q.Resource, q.Subresource).Inc()
}

// Exempt counts an exempt request.
func (m *PodSecurity) Exempt(q PodSecurityRequest) {
	if m != nil {
		m.exemptions.WithLabelValues(q.Operation, q.Resource, q.Subresource).Inc()
	}
}

// Failed counts an error. A fatal one denies the request.
func (m *PodSecurity) Failed(fatal bool, q PodSecurityRequest) {
	if m == nil {
		return
	}
	text := "false"
	if fatal {
		text = "true"
	}
	m.errors.WithLabelValues(text, q.Operation, q.Resource, q.Subresource).Inc()
}
