package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Gone is a set of resources that are no longer served.
type Gone map[schema.GroupResource]struct{}

// Forget deletes the series of resources, in one pass for all of them. It is safe to call while requests are
// counted. If a resource is served again, its series start at 0, which Prometheus treats as a counter reset.
func (r *Registry) Forget(gone Gone) {
	if len(gone) == 0 {
		return
	}
	r.Requests.forget(gone)
	r.Storage.forget(gone)
	r.Watches.forget(gone)
	gone.removeFrom(r.Peers.rerouted.MetricVec)
	for _, v := range r.perResource {
		gone.removeFrom(v)
	}
}

// FollowResources adds vectors whose series Forget deletes. It must be called before the server runs.
func (r *Registry) FollowResources(all ...*prometheus.MetricVec) {
	r.perResource = append(r.perResource, all...)
}

// removeFrom deletes the series of the resources and returns their labels.
func (g Gone) removeFrom(v *prometheus.MetricVec) []prometheus.Labels {
	removed := g.in(v)
	for _, labels := range removed {
		v.Delete(labels)
	}
	return removed
}

// in returns the labels of the resources' series. If there is a label "group", the label "resource" has the
// plural, otherwise "RESOURCE.GROUP".
func (g Gone) in(v *prometheus.MetricVec) (found []prometheus.Labels) {
	for _, labels := range labelsIn(v) {
		gr := schema.GroupResource{Group: labels["group"], Resource: labels["resource"]}
		if _, grouped := labels["group"]; !grouped {
			gr = schema.ParseGroupResource(gr.Resource)
		}
		if _, ok := g[gr]; ok {
			found = append(found, labels)
		}
	}
	return found
}

func (m *Requests) forget(gone Gone) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for k, s := range m.series {
		if _, ok := gone[schema.GroupResource{Group: k.Group, Resource: k.Resource}]; ok {
			s.remove()
			delete(m.series, k)
		}
	}
	for _, v := range []*prometheus.MetricVec{m.longRunning.MetricVec, m.terminations.MetricVec, m.aborts.MetricVec,
		m.self.MetricVec, m.deprecated.MetricVec} {
		gone.removeFrom(v)
	}
}

// remove deletes the series of s from all vectors.
func (s *series) remove() {
	m, k := s.owner, &s.key
	for _, o := range *s.outcomes.Load() {
		m.total.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope,
			dryRunLabel(o.dryRun), component, strconv.Itoa(o.code), o.client)
	}
	for _, dryRun := range []bool{false, true} {
		m.duration.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, dryRunLabel(dryRun),
			component)
	}
	for _, v := range []*prometheus.MetricVec{m.sli.MetricVec, m.sizes.MetricVec} {
		v.DeleteLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, component)
	}
	m.bodies.DeleteLabelValues(k.Resource, bodyVerb(k.Verb), k.Group)
}

func (m *Storage) forget(gone Gone) {
	for _, l := range gone.removeFrom(m.requests.MetricVec) {
		m.errors.Delete(l)
		m.duration.Delete(l)
	}
	for _, l := range gone.removeFrom(m.lists.MetricVec) {
		for _, v := range []*prometheus.CounterVec{m.fetched, m.evaluated, m.returned} {
			v.Delete(l)
		}
	}
	m.deletions.Add(1)
}

func (m *Watches) forget(gone Gone) {
	for _, l := range gone.removeFrom(m.events.MetricVec) {
		m.sizes.Delete(l)
	}
	gone.removeFrom(m.initial.MetricVec)
	m.deletions.Add(1)
}
