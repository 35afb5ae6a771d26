package requestmetrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// dropped deletes the series of resources that are no longer served.
func (m *Requests) dropped(gone metrics.Gone) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for k, s := range m.series {
		if gone.Has(k.Group, k.Resource) {
			s.remove()
			delete(m.series, k)
		}
	}
	for _, v := range []*prometheus.MetricVec{m.longRunning.MetricVec, m.terminations.MetricVec, m.aborts.MetricVec,
		m.self.MetricVec, m.deprecated.MetricVec} {
		gone.RemoveFrom(v)
	}
}

// remove deletes the series of s from all vectors.
func (s *series) remove() {
	m, k := s.owner, &s.key
	for _, o := range *s.outcomes.Load() {
		m.total.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope,
			dryRunLabel(o.dryRun), k.component(), strconv.Itoa(o.code))
	}
	for _, dryRun := range []bool{false, true} {
		m.duration.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, dryRunLabel(dryRun),
			k.component())
	}
	for _, v := range []*prometheus.MetricVec{m.sli.MetricVec, m.sizes.MetricVec} {
		v.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.component())
	}
	m.bodies.DeleteLabelValues(k.Resource, bodyVerb(k), k.Group)
}
