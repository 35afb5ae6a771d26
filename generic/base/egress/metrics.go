package egress

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stages at which connecting can fail.
const (
	stageConnect = "connect" // connecting to the proxy
	stageProxy   = "proxy"   // the proxy's connection to the destination
)

// dialError is an error with the stage at which connecting failed.
type dialError struct {
	stage string
	err   error
}

// Error implements error.
func (e *dialError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *dialError) Unwrap() error { return e.err }

// dialMetrics counts connections through proxies.
type dialMetrics struct {
	starts, failures *prometheus.CounterVec
	took             *prometheus.HistogramVec
}

func newDialMetrics() *dialMetrics {
	return &dialMetrics{
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_egress_dialer_dial_start_total",
			Help: "Connections begun, by protocol and transport of the proxy."}, []string{"protocol", "transport"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_egress_dialer_dial_failure_count",
			Help: "Connections that failed, by protocol, transport and stage: connect to the proxy, or proxy."},
			[]string{"protocol", "stage", "transport"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_egress_dialer_dial_duration_seconds",
			Help: "Seconds that connecting took.", Buckets: []float64{0.005, 0.025, 0.1, 0.5, 2.5, 12.5}},
			[]string{"protocol", "transport"}),
	}
}

func (m *dialMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.starts, m.failures, m.took}
}

// measured wraps dial with metrics.
func (m *dialMetrics) measured(protocol, transport string, dial Dial) Dial {
	starts, took := m.starts.WithLabelValues(protocol, transport), m.took.WithLabelValues(protocol, transport)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		begun := time.Now()
		starts.Inc()
		conn, err := dial(ctx, network, address)
		if err == nil {
			took.Observe(time.Since(begun).Seconds())
			return conn, nil
		}
		var failed *dialError
		if errors.As(err, &failed) {
			m.failures.WithLabelValues(protocol, failed.stage, transport).Inc()
		}
		return nil, err
	}
}
