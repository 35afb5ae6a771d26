package allocator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// Metrics has the metrics of cluster IPs and node ports. A nil Metrics counts nothing.
type Metrics struct {
	allocated, available *prometheus.GaugeVec
	total, failed        *prometheus.CounterVec
	took                 *prometheus.HistogramVec

	ports, freePorts       prometheus.Gauge
	portTotal, portsFailed *prometheus.CounterVec
	repairsFailed          prometheus.Counter
}

// NewMetrics registers the metrics, unless they are registered: allocations and their repair share them. It returns
// nil if nothing is gathered.
func NewMetrics(r *metrics.Registry) *Metrics {
	if !r.Gathers() {
		return nil
	}
	const ips, ports = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_"
	cidr := []string{"cidr"}
	gauges := func(name, help string) *prometheus.GaugeVec {
		return metrics.Shared(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, cidr))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return metrics.Shared(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return metrics.Shared(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	return &Metrics{
		allocated: gauges(ips+"allocated_ips", "Allocated cluster IPs of a range."),
		available: gauges(ips+"available_ips", "Free cluster IPs of a range."),
		total: counters(ips+"allocation_total",
			"Allocations of cluster IPs, requested (static) or chosen by the server (dynamic).", "cidr", "scope"),
		failed: counters(ips+"allocation_errors_total", "Failed allocations of cluster IPs.", "cidr", "scope"),
		took: metrics.Shared(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Buckets: prometheus.DefBuckets,
			Name: ips + "allocation_duration_seconds", Help: "Seconds that the allocation of a cluster IP took."}, cidr)),
		ports:     gauge(ports+"allocated_ports", "Allocated node ports."),
		freePorts: gauge(ports+"available_ports", "Free node ports."),
		portTotal: counters(ports+"allocation_total",
			"Allocations of node ports, requested (static) or chosen by the server (dynamic).", "scope"),
		portsFailed: counters(ports+"allocation_errors_total", "Failed allocations of node ports.", "scope"),
		repairsFailed: metrics.Shared(r, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "apiserver_nodeport_repair_reconcile_errors_total",
			Help: "Failed repairs of the allocations of node ports."})),
	}
}

// allocationScope returns the label "scope".
func allocationScope(chosen bool) string {
	if chosen {
		return "dynamic"
	}
	return "static"
}

// IP counts the allocation of a cluster IP of a range, which failed if err is not nil. chosen is whether the
// server chose it.
func (m *Metrics) IP(cidr string, chosen bool, took time.Duration, err error) {
	if m == nil {
		return
	}
	if err != nil {
		m.failed.WithLabelValues(cidr, allocationScope(chosen)).Inc()
		return
	}
	m.took.WithLabelValues(cidr).Observe(took.Seconds())
	m.total.WithLabelValues(cidr, allocationScope(chosen)).Inc()
	m.allocated.WithLabelValues(cidr).Inc()
	m.available.WithLabelValues(cidr).Dec()
}

// IPReleased counts the release of a cluster IP.
func (m *Metrics) IPReleased(cidr string) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Dec()
		m.available.WithLabelValues(cidr).Inc()
	}
}

// IPs sets the numbers of allocated and of all cluster IPs of a range.
func (m *Metrics) IPs(cidr string, allocatedNow int, all uint64) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Set(float64(allocatedNow))
		m.available.WithLabelValues(cidr).Set(float64(all) - float64(allocatedNow))
	}
}

// Ports counts allocations of node ports, and sets the numbers of allocated and of all node ports.
func (m *Metrics) Ports(static, chosen, allocatedNow, all int) {
	if m == nil {
		return
	}
	if static > 0 {
		m.portTotal.WithLabelValues(allocationScope(false)).Add(float64(static))
	}
	if chosen > 0 {
		m.portTotal.WithLabelValues(allocationScope(true)).Add(float64(chosen))
	}
	m.ports.Set(float64(allocatedNow))
	m.freePorts.Set(float64(all - allocatedNow))
}

// PortFailed counts a failed allocation of a node port.
func (m *Metrics) PortFailed(chosen bool) {
	if m != nil {
		m.portsFailed.WithLabelValues(allocationScope(chosen)).Inc()
	}
}

// RepairFailed counts a failed repair of the node port allocations.
func (m *Metrics) RepairFailed() {
	if m != nil {
		m.repairsFailed.Inc()
	}
}
