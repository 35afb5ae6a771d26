package configfile

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts the reloads of one file. A nil Metrics counts nothing.
type Metrics struct {
	server  string
	reloads *prometheus.CounterVec
	last    *prometheus.GaugeVec
	info    *prometheus.GaugeVec
}

// NewMetrics registers the metrics for the configuration file of a subsystem, such as "authentication".
// serverID is the identity of this API server.
func NewMetrics(registry prometheus.Registerer, subsystem, serverID string) *Metrics {
	prefix := "apiserver_" + subsystem + "_config_controller_"
	m := &Metrics{
		server: Hash([]byte(serverID)),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "automatic_reloads_total",
			Help: "Reloads of the " + subsystem + " configuration, by status."}, []string{"apiserver_id_hash", "status"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "automatic_reload_last_timestamp_seconds",
			Help: "Unix time of the last reload of the " + subsystem + " configuration, by status."},
			[]string{"apiserver_id_hash", "status"}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "last_config_info",
			Help: "1, with the hash of the current " + subsystem + " configuration as a label."},
			[]string{"apiserver_id_hash", "hash"}),
	}
	registry.MustRegister(m.reloads, m.last, m.info)
	return m
}

// Reloaded counts a reload, which failed if err is not nil.
func (m *Metrics) Reloaded(err error) {
	if m == nil {
		return
	}
	status := "success"
	if err != nil {
		status = "failure"
	}
	m.reloads.WithLabelValues(m.server, status).Inc()
	m.last.WithLabelValues(m.server, status).SetToCurrentTime()
}

func (m *Metrics) setCurrent(raw []byte) {
	if m == nil {
		return
	}
	m.info.Reset()
	hash := ""
	if len(raw) > 0 {
		hash = Hash(raw)
	}
	m.info.WithLabelValues(m.server, hash).Set(1)
}

// Hash returns a hash of a secret or long value, for use in labels.
func Hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
