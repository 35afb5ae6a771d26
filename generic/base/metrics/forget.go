package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Gone is a set of resources that are no longer served.
type Gone map[schema.GroupResource]struct{}

// Has reports whether a resource is in the set.
func (g Gone) Has(group, resource string) bool {
	_, ok := g[schema.GroupResource{Group: group, Resource: resource}]
	return ok
}

// Forget deletes the series of resources, in one pass for all of them. It is safe to call while requests are
// counted. If a resource is served again, its series start at 0, which Prometheus treats as a counter reset.
func (r *Registry) Forget(gone Gone) {
	if len(gone) == 0 {
		return
	}
	for _, f := range r.onForget {
		f(gone)
	}
}

// OnForget adds a function that deletes series of resources.
func (r *Registry) OnForget(f func(Gone)) { r.onForget = append(r.onForget, f) }

// FollowResources adds vectors whose series Forget deletes.
func (r *Registry) FollowResources(all ...*prometheus.MetricVec) {
	r.OnForget(func(gone Gone) {
		for _, v := range all {
			gone.RemoveFrom(v)
		}
	})
}

// RemoveFrom deletes the series of the resources and returns their labels.
func (g Gone) RemoveFrom(v *prometheus.MetricVec) []prometheus.Labels {
	removed := g.in(v)
	for _, labels := range removed {
		v.Delete(labels)
	}
	return removed
}

// in returns the labels of the resources' series. If there is a label "group", the label "resource" has the
// plural, otherwise "RESOURCE.GROUP".
func (g Gone) in(v *prometheus.MetricVec) (found []prometheus.Labels) {
	for _, labels := range LabelsOf(v) {
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
