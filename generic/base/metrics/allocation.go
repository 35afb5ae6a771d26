package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Allocation is what is counted about cluster IPs and node ports. A nil one counts nothing.
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
		allocated: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: ips + "allocated_ips", Help: "Cluster IPs of a range that are taken."}, cidr),
		available: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: ips + "available_ips", Help: "Cluster IPs of a range that are free."}, cidr),
		total:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: ips + "allocation_total", Help: "Cluster IPs that were given out, as asked for (static) or chosen (dynamic)."}, scope),
		failed:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: ips + "allocation_errors_total", Help: "Cluster IPs that could not be given out."}, scope),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: ips + "allocation_duration_seconds", Buckets: prometheus.DefBuckets,
			Help: "Seconds until a cluster IP was given out."}, cidr),
		ports:       prometheus.NewGauge(prometheus.GaugeOpts{Name: ports + "allocated_ports", Help: "Node ports that are taken."}),
		freePorts:   prometheus.NewGauge(prometheus.GaugeOpts{Name: ports + "available_ports", Help: "Node ports that are free."}),
		portTotal:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: ports + "allocation_total", Help: "Node ports that were given out, as asked for (static) or chosen (dynamic)."}, []string{"scope"}),
		portsFailed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: ports + "allocation_errors_total", Help: "Node ports that could not be given out."}, []string{"scope"}),
	}
	m.repairsFailed = prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_nodeport_repair_reconcile_errors_total",
		Help: "Times that what node ports are taken could not be brought in line with the Services."})
	r.MustRegister(m.repairsFailed, m.allocated, m.available, m.total, m.failed, m.took, m.ports, m.freePorts, m.portTotal, m.portsFailed)
	return m
}

// allocationScope is the label "scope".
func allocationScope(chosen bool) string {
	if chosen {
		return "dynamic"
	}
	return "static"
}

// IP counts that a cluster IP of a range was given out, or could not be; chosen says by
// whom.
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

// IPReleased counts that a cluster IP was given back.
func (m *Allocation) IPReleased(cidr string) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Dec()
		m.available.WithLabelValues(cidr).Inc()
	}
}

// IPs sets how many cluster IPs of a range are taken, and how many there are.
func (m *Allocation) IPs(cidr string, taken int, all uint64) {
	if m != nil {
		m.allocated.WithLabelValues(cidr).Set(float64(taken))
		m.available.WithLabelValues(cidr).Set(float64(all) - float64(taken))
	}
}

// Ports counts node ports that were given out, and sets how many are taken of how many.
func (m *Allocation) Ports(asked, chosen, taken, all int) {
	if m == nil {
		return
	}
	if asked > 0 {
		m.portTotal.WithLabelValues(allocationScope(false)).Add(float64(asked))
	}
	if chosen > 0 {
		m.portTotal.WithLabelValues(allocationScope(true)).Add(float64(chosen))
	}
	m.ports.Set(float64(taken))
	m.freePorts.Set(float64(all - taken))
}

// PortFailed counts a node port that could not be given out.
func (m *Allocation) PortFailed(chosen bool) {
	if m != nil {
		m.portsFailed.WithLabelValues(allocationScope(chosen)).Inc()
	}
}

// RepairFailed counts that node ports could not be brought in line with the Services.
func (m *Allocation) RepairFailed() {
	if m != nil {
		m.repairsFailed.Inc()
	}
}
