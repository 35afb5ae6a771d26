package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"triplane/internal/worker"
)

// owners knows by the names of which objects series are labelled, and removes the series of those that were
// deleted. What is under way may count for a deleted object once more, so that series are removed when metrics
// are gathered, not only when something changes.
type owners struct {
	mu  sync.Mutex
	all []owned
}

// owned are vectors of the same owners. exist returns the owners that there are now, as a function of a
// series' labels.
type owned struct {
	exist   func() func(labels prometheus.Labels) bool
	vectors []*prometheus.MetricVec
}

// follow has prune remove the series of vectors for which exist is false.
func (o *owners) follow(exist func() func(prometheus.Labels) bool, vectors ...*prometheus.MetricVec) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, owned{exist, vectors})
}

// prune removes the series of owners that do not exist.
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

// Gather implements prometheus.Gatherer, without the series of what was deleted.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) {
	r.Admission.owners.prune()
	return r.Registry.Gather()
}
