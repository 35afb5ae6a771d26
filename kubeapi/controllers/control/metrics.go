package control

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Metrics are the metrics of the controllers, with kube-controller-manager's names and labels. They are safe for
// concurrent use.
type Metrics struct {
	queues workqueue.MetricsProvider

	mu      sync.Mutex
	running map[string]bool // by controller; nil before the first one
	leading float64
}

// LeaseName is the name of the Lease of the replica whose controllers run.
const LeaseName = "triplane-controllers"

// NewMetrics returns metrics, which must be registered once. queues has the metrics of the server's queues.
func NewMetrics(queues workqueue.MetricsProvider) *Metrics { return &Metrics{queues: queues} }

func runningDesc() *prometheus.Desc {
	return prometheus.NewDesc("running_managed_controllers", "1 for each controller that runs in this replica.",
		[]string{"name"}, prometheus.Labels{"manager": LeaseName})
}

func leadingDesc() *prometheus.Desc {
	return prometheus.NewDesc("leader_election_master_status",
		"1 where the controllers of this replica work, 0 where they wait for another's.", nil,
		prometheus.Labels{"name": LeaseName})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- runningDesc()
	ch <- leadingDesc()
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	running, leading := maps.Clone(m.running), m.leading
	m.mu.Unlock()
	desc := runningDesc()
	for name, runs := range running {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, number(runs), name)
	}
	ch <- prometheus.MustNewConstMetric(leadingDesc(), prometheus.GaugeValue, leading)
}

// Running sets whether controllers run.
func (m *Metrics) Running(names []string, run bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		m.running = make(map[string]bool, len(names))
	}
	for _, name := range names {
		m.running[name] = run
	}
}

// Leading sets whether this replica's controllers run.
func (m *Metrics) Leading(leads bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leading = number(leads)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
