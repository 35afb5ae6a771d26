package authorization

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/authorizer"
)

// Decisions counts the decisions of authorizers in apiserver_authorization_decisions_total. A nil Decisions
// counts nothing.
type Decisions struct {
	total *prometheus.CounterVec
}

// NewDecisions registers the metric.
func NewDecisions(registry prometheus.Registerer) *Decisions {
	d := &Decisions{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_authorization_decisions_total",
		Help: "Requests that an authorizer allowed or denied, by type and name of the authorizer."},
		[]string{"type", "name", "decision"})}
	registry.MustRegister(d.total)
	return d
}

// Of wraps an authorizer so that its decisions are counted with a type and a name.
func (d *Decisions) Of(a authorizer.Authorizer, kind, name string) authorizer.Authorizer {
	if d == nil {
		return a
	}
	return &counted{a, d.total.WithLabelValues(kind, name, "allowed"), d.total.WithLabelValues(kind, name, "denied")}
}

type counted struct {
	authorizer.Authorizer
	allowed, denied prometheus.Counter
}

// Authorize implements authorizer.Authorizer.
func (c *counted) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := c.Authorizer.Authorize(ctx, a)
	switch decision {
	case authorizer.Allow:
		c.allowed.Inc()
	case authorizer.Deny:
		c.denied.Inc()
	}
	return decision, reason, err
}
