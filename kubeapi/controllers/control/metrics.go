package control

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of the controllers' queues, with the names and labels that
// client-go's have in kube-controller-manager.
type Metrics struct {
	adds, retries *prometheus.CounterVec
	took          *prometheus.HistogramVec
	depth         *prometheus.Desc
	running       *prometheus.GaugeVec
	leading       *prometheus.GaugeVec

	mu     sync.Mutex
	depths map[string]func() int
}

// LeaseName is the Lease of the replica whose controllers work.
const LeaseName = "triplane-controllers"

// NewMetrics returns metrics that are to be registered once.
func NewMetrics() *Metrics {
	name := []string{"name"}
	return &Metrics{
		adds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "workqueue_adds_total", Help: "Keys entered in the queue of a controller.",
		}, name),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "workqueue_retries_total", Help: "Keys that a controller tried again after an error.",
		}, name),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_work_duration_seconds", Help: "How long the work for a key took.",
			Buckets: prometheus.ExponentialBuckets(1e-5, 10, 8),
		}, name),
		depth: prometheus.NewDesc("workqueue_depth", "Keys that wait in the queue of a controller.", name, nil),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "running_managed_controllers", Help: "1 for each controller that runs in this replica.",
		}, []string{"manager", "name"}),
		leading: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "leader_election_master_status", Help: "1 where the controllers of this replica work, 0 where they wait for another's.",
		}, name),
		depths: map[string]func() int{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.depth
	for _, c := range m.vectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.vectors() {
		c.Collect(ch)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, depth := range m.depths {
		ch <- prometheus.MustNewConstMetric(m.depth, prometheus.GaugeValue, float64(depth()), name)
	}
}

func (m *Metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.adds, m.retries, m.took, m.running, m.leading}
}

// Running notes whether a controller runs.
func (m *Metrics) Running(name string, runs bool) {
	m.running.WithLabelValues(LeaseName, name).Set(number(runs))
}

// Leading notes whether this replica's controllers work.
func (m *Metrics) Leading(leads bool) { m.leading.WithLabelValues(LeaseName).Set(number(leads)) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// meter is the metrics of one queue.
type meter struct {
	adds, retries prometheus.Counter
	took          prometheus.Observer
	end           func()
}

func (m *Metrics) meter(name string, depth func() int) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depths[name] = depth
	return &meter{
		adds: m.adds.WithLabelValues(name), retries: m.retries.WithLabelValues(name), took: m.took.WithLabelValues(name),
		end: func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.depths, name)
		},
	}
}
