package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Allocation has the metrics of cluster IPs and node ports. A nil Allocation counts nothing.
type Allocation struct {
	allocated, available *prometheus.GaugeVec
	total, failed        *prometheus.CounterVec
	took                 *prometheus.HistogramVec

	ports, freePorts       prometheus.Gauge
	portTotal, portsFailed *prometheus.CounterVec
	repairsFailed          prometheus.Counter
}

func newAllocation(r prometheus.Registerer) *Allocation {
	const ips, ports = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_"
	cidr, scope := []string{"cidr"}, []string{"cidr", "scope"}
	m := &Allocation{
		allocated: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: ips + "allocated_ips",
			Help: "Allocated cluster IPs of a range."}, cidr),
		available: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: ips + "available_ips",
			Help: "Free cluster IPs of a range."}, cidr),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: ips + "allocation_total",
			Help: "Allocations of cluster IPs, requested (static) or chosen by the server (dynamic)."}, scope),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: ips + "allocation_errors_total",
			Help: "Failed allocations of cluster IPs."}, scope),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: ips + "allocation_duration_seconds",
			Buckets: prometheus.DefBuckets,
			Help:    "Seconds that the allocation of a cluster IP took."}, cidr),
		ports: prometheus.NewGauge(prometheus.GaugeOpts{Name: ports + "allocated_ports",
			Help: "Allocated node ports."}),
		freePorts: prometheus.NewGauge(prometheus.GaugeOpts{Name: ports + "available_ports", Help: "Free node ports."}),
		portTotal: prometheus.NewCounterVec(prometheus.CounterOpts{Name: ports + "allocation_total",
			Help: "Allocations of node ports, requested (static) or chosen by the server (dynamic)."}, []string{"scope"}),
		portsFailed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: ports + "allocation_errors_total",
			Help: "Failed allocations of node ports."}, []string{"scope"}),
	}
	m.repairsFailed = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "apiserver_nodeport_repair_reconcile_errors_total",
			Help: "Failed repairs of the allocations of node ports."})
	r.MustRegister(m.repairsFailed, m.allocated, m.available, m.total, m.failed, m.took, m.ports, m.freePorts, m.portTotal,
		m.portsFailed)
	return m
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
func (m *Allocation) IP(cidr string, chosen bool, took time.Duration, err error) {
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
func (m *Allocation) IPReleased(cidr string) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Dec()
		m.available.WithLabelValues(cidr).Inc()
	}
}

// IPs sets the numbers of allocated and of all cluster IPs of a range.
func (m *Allocation) IPs(cidr string, allocatedNow int, all uint64) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Set(float64(allocatedNow))
		m.available.WithLabelValues(cidr).Set(float64(all) - float64(allocatedNow))
	}
}

// Ports counts allocations of node ports, and sets the numbers of allocated and of all node ports.
func (m *Allocation) Ports(static, chosen, allocatedNow, all int) {
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
func (m *Allocation) PortFailed(chosen bool) {
	if m != nil {
		m.portsFailed.WithLabelValues(allocationScope(chosen)).Inc()
	}
}

// RepairFailed counts a failed repair of the node port allocations.
func (m *Allocation) RepairFailed() {
	if m != nil {
		m.repairsFailed.Inc()
	}
}
