package worker

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are the metrics of a queue. A nil value counts nothing.
type queueMetrics struct {
	depth               workqueue.GaugeMetric
	adds, retries       workqueue.CounterMetric
	latency, duration   workqueue.HistogramMetric
	unfinished, longest workqueue.SettableGaugeMetric
	progress            *time.Timer // nil while no key is processed
}

// progressEvery is how often the metrics of work in progress are set.
const progressEvery = 500 * time.Millisecond

func newQueueMetrics(p workqueue.MetricsProvider, name string) *queueMetrics {
	return &queueMetrics{
		depth: p.NewDepthMetric(name), adds: p.NewAddsMetric(name), retries: p.NewRetriesMetric(name),
		latency: p.NewLatencyMetric(name), duration: p.NewWorkDurationMetric(name),
		unfinished: p.NewUnfinishedWorkSecondsMetric(name), longest: p.NewLongestRunningProcessorSecondsMetric(name),
	}
}

// added counts a key that waits.
func (m *queueMetrics) added() {
	if m != nil {
		m.depth.Inc()
		m.adds.Inc()
	}
}

// dropped counts a key that waits no longer, because the queue was stopped.
func (m *queueMetrics) dropped() {
	if m != nil {
		m.depth.Dec()
	}
}

func (m *queueMetrics) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *queueMetrics) begun(waited time.Duration) {
	if m != nil {
		m.depth.Dec()
		m.latency.Observe(waited.Seconds())
	}
}

func (m *queueMetrics) done(took time.Duration) {
	if m != nil {
		m.duration.Observe(took.Seconds())
	}
}

// watch calls observe at intervals until unwatch.
func (m *queueMetrics) watch(observe func()) {
	if m != nil {
		m.progress = time.AfterFunc(progressEvery, observe)
	}
}

// unwatch follows the last key that was processed. The caller holds the queue's mutex, as observe does.
func (m *queueMetrics) unwatch() {
	if m == nil {
		return
	}
	m.progress.Stop()
	m.unfinished.Set(0)
	m.longest.Set(0)
}

// observe sets the metrics of work in progress: the seconds of all keys together, and of the longest.
func (m *queueMetrics) observe(sum, longest time.Duration) {
	m.unfinished.Set(sum.Seconds())
	m.longest.Set(longest.Seconds())
	m.progress.Reset(progressEvery)
}
