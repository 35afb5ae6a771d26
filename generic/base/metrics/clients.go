package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Clients is what is counted about requests that clients in this process make.
type Clients struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// Bytes of bodies.
	sent, received *prometheus.HistogramVec
}

func newClients(r prometheus.Registerer) *Clients {
	m := &Clients{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total",
			Help: "Requests of clients in this process, by status code, method and host."}, []string{"code", "method", "host"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_request_duration_seconds",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0},
			Help:    "Seconds until the header of the answer to a request of a client in this process, by verb and host."}, []string{"verb", "host"}),
	}
	size := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_" + name + "_size_bytes", Help: help,
			Buckets: []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}}, []string{"verb", "host"})
	}
	m.sent = size("request", "Bytes of what clients in this process send, by verb and host.")
	m.received = size("response", "Bytes of what clients in this process are answered, other than watches, by verb and host.")
	r.MustRegister(m.requests, m.duration, m.sent, m.received)
	return m
}

// Done counts a request with a body of so many bytes; code 0 is one without an answer.
func (m *Clients) Done(method, host string, size int64, code int, took time.Duration) {
	text := "<error>"
	if code != 0 {
		text = strconv.Itoa(code)
	}
	m.requests.WithLabelValues(text, method, host).Inc()
	m.duration.WithLabelValues(method, host).Observe(took.Seconds())
	m.sent.WithLabelValues(method, host).Observe(float64(size))
}

// Received counts an answer that was read, with so many bytes.
func (m *Clients) Received(method, host string, size int64) {
	m.received.WithLabelValues(method, host).Observe(float64(size))
}
