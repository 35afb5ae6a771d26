package workspaces

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of all workspaces together.
type metrics struct {
	manager *Manager
	wakes   prometheus.Histogram
}

var workspacesDesc = prometheus.NewDesc("triplane_workspaces",
	"Workspaces by state: awake have servers in memory, asleep do not.", []string{"state"}, nil)

func newMetrics(m *Manager) *metrics {
	return &metrics{manager: m, wakes: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "triplane_workspace_wake_seconds", Help: "Seconds from the start of a wake until the workspace was ready.",
		Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5},
	})}
}

func (m *metrics) woken(took time.Duration) { m.wakes.Observe(took.Seconds()) }

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- workspacesDesc
	m.wakes.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	awake, asleep := m.manager.counts()
	ch <- prometheus.MustNewConstMetric(workspacesDesc, prometheus.GaugeValue, float64(awake), "awake")
	ch <- prometheus.MustNewConstMetric(workspacesDesc, prometheus.GaugeValue, float64(asleep), "asleep")
	m.wakes.Collect(ch)
}

// Metrics returns the metrics of the manager.
func (m *Manager) Metrics() prometheus.Collector { return m.metrics }
