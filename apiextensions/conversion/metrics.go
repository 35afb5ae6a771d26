package conversion

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

// failure is the label "failure_type" of a conversion, "" for a success.
type failure string

const (
	callFailure      failure = "conversion_webhook_call_failure"
	malformedFailure failure = "conversion_webhook_malformed_response_failure"
	partialFailure   failure = "conversion_webhook_partial_response_failure"
	invalidFailure   failure = "conversion_webhook_invalid_converted_object_failure"
)

// Metrics counts and measures the calls of conversion webhooks. It is safe for concurrent use. A nil Metrics counts
// nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	crds     *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(r *metrics.Registry) *Metrics {
	labels := []string{"result", "failure_type"}
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_conversion_webhook_request_total",
			Help: "Calls of conversion webhooks, by result and what failed."}, labels),
		duration: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
			Name:    "apiserver_conversion_webhook_duration_seconds",
			Buckets: []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60},
			Help:    "Seconds that calls of conversion webhooks took, by result and what failed."}), labels),
		crds: prometheus.NewHistogramVec(r.MayBeNative(prometheus.HistogramOpts{
			Name:    "apiserver_crd_conversion_webhook_duration_seconds",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
			Help:    "Seconds that conversions by webhooks took, by CustomResourceDefinition and versions."}),
			[]string{"crd_name", "from_version", "to_version", "succeeded"}),
	}
	r.OnForget(func(gone metrics.Gone) {
		for _, labels := range metrics.LabelsOf(m.crds.MetricVec) {
			if _, ok := gone[schema.ParseGroupResource(labels["crd_name"])]; ok {
				m.crds.Delete(labels)
			}
		}
	})
	r.MustRegister(m.requests, m.duration, m.crds)
	return m
}

// observe counts a call for objects of a CRD that began at start.
func (m *Metrics) observe(crd string, from, to schema.GroupVersion, start time.Time, what failure) {
	if m == nil {
		return
	}
	took, result := time.Since(start).Seconds(), "success"
	if what != "" {
		result = "failure"
	}
	m.requests.WithLabelValues(result, string(what)).Inc()
	m.duration.WithLabelValues(result, string(what)).Observe(took)
	m.crds.WithLabelValues(crd, from.Version, to.Version, strconv.FormatBool(what == "")).Observe(took)
}
