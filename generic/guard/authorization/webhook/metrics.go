package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics measures calls of webhooks, by the name of the webhook. A nil Metrics measures nothing.
type Metrics struct {
	calls, failedOpen            *prometheus.CounterVec
	took                         *prometheus.HistogramVec
	conditionErrors, notMatching *prometheus.CounterVec
	conditionTook                *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	const prefix = "apiserver_authorization_"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	m := &Metrics{
		calls: counter("webhook_evaluations_total", "Requests to authorization webhooks, by result.", "name", "result"),
		failedOpen: counter("webhook_evaluations_fail_open_total",
			"Failed requests to authorization webhooks with the failure policy NoOpinion.", "name", "result"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "webhook_duration_seconds",
			Help:    "Seconds that requests to authorization webhooks took.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"name", "result"}),
		conditionErrors: counter("match_condition_evaluation_errors_total", "Failed evaluations of match conditions.",
			"type", "name"),
		notMatching: counter("match_condition_exclusions_total",
			"Requests for which a webhook was not called because a match condition is false.", "type", "name"),
		conditionTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix +
			"match_condition_evaluation_seconds", Help: "Seconds that the evaluation of match conditions took.",
			Buckets: []float64{.001, .005, .01, .025, .1, .2, .25}}, []string{"type", "name"}),
	}
	registry.MustRegister(m.calls, m.failedOpen, m.took, m.conditionErrors, m.notMatching, m.conditionTook)
	return m
}

const kind = "Webhook" // the label "type"

func (m *Metrics) called(name string, err error, failsOpen bool, took time.Duration) {
	if m == nil {
		return
	}
	result := "success"
	switch {
	case errors.Is(err, context.Canceled):
		result = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		result = "timeout"
	case err != nil:
		result = "error"
	}
	m.calls.WithLabelValues(name, result).Inc()
	m.took.WithLabelValues(name, result).Observe(took.Seconds())
	if err != nil && failsOpen {
		m.failedOpen.WithLabelValues(name, result).Inc()
	}
}

func (m *Metrics) evaluated(name string, matches bool, err error, took time.Duration) {
	if m == nil {
		return
	}
	m.conditionTook.WithLabelValues(kind, name).Observe(took.Seconds())
	switch {
	case err != nil:
		m.conditionErrors.WithLabelValues(kind, name).Inc()
	case !matches:
		m.notMatching.WithLabelValues(kind, name).Inc()
	}
}
