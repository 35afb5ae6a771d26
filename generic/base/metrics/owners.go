package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"triplane.dev/internal/worker"
)

// owners deletes the series of deleted objects, such as webhooks. Calls in progress may create a series again,
// so that series are also deleted when metrics are gathered.
type owners struct {
	mu  sync.Mutex
	all []owned
}

// owned are vectors with the same owners. exist returns a function that reports whether the owner in the labels
// of a series exists.
type owned struct {
	exist   func() func(labels prometheus.Labels) bool
	vectors []*prometheus.MetricVec
}

// follow registers vectors. prune deletes their series for which exist returns false.
func (o *owners) follow(exist func() func(prometheus.Labels) bool, vectors ...*prometheus.MetricVec) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, owned{exist, vectors})
}

// prune deletes the series of owners that do not exist.
func (o *owners) prune() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, each := range o.all {
		exists := each.exist()
		for _, v := range each.vectors {
			for _, labels := range labelsIn(v) {
				if !exists(labels) {
					v.Delete(labels)
				}
			}
		}
	}
}

// labelsIn returns the labels of all series of a vector.
func labelsIn(v *prometheus.MetricVec) (found []prometheus.Labels) {
	all := make(chan prometheus.Metric)
	worker.Go(func() {
		defer close(all)
		v.Collect(all)
	})
	for m := range all {
		var written dto.Metric
		if m.Write(&written) != nil {
			continue
		}
		labels := make(prometheus.Labels, len(written.Label))
		for _, l := range written.Label {
			labels[l.GetName()] = l.GetValue()
		}
		found = append(found, labels)
	}
	return found
}

// Gather implements prometheus.Gatherer. It deletes the series of deleted objects first.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) {
	r.Admission.owners.prune()
	return r.Registry.Gather()
}
