package control

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Metrics are the metrics of the controllers, with kube-controller-manager's names and labels.
type Metrics struct {
	queues           workqueue.MetricsProvider
	running, leading *prometheus.GaugeVec
}

// LeaseName is the name of the Lease of the replica whose controllers run.
const LeaseName = "triplane-controllers"

// NewMetrics returns metrics, which must be registered once. queues has the metrics of the server's queues.
func NewMetrics(queues workqueue.MetricsProvider) *Metrics {
	return &Metrics{
		queues: queues,
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "running_managed_controllers", Help: "1 for each controller that runs in this replica.",
		}, []string{"manager", "name"}),
		leading: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "leader_election_master_status",
			Help: "1 where the controllers of this replica work, 0 where they wait for another's.",
		}, []string{"name"}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.running.Describe(ch)
	m.leading.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.running.Collect(ch)
	m.leading.Collect(ch)
}

// Running sets whether a controller runs.
func (m *Metrics) Running(name string, runs bool) {
	m.running.WithLabelValues(LeaseName, name).Set(number(runs))
}

// Leading sets whether this replica's controllers run.
func (m *Metrics) Leading(leads bool) { m.leading.WithLabelValues(LeaseName).Set(number(leads)) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
