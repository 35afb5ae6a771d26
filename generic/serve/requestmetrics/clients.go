package requestmetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Clients has the metrics of requests that clients in this process send.
type Clients struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// sent and received are the bytes of bodies.
	sent, received *prometheus.HistogramVec
}

func newClients(r prometheus.Registerer) *Clients {
	m := &Clients{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total",
			Help: "Requests of clients in this process, by status code, method and host."}, []string{"code", "method", "host"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_request_duration_seconds",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0},
			Help:    "Seconds until the response header of a request of a client in this process, by verb and host."},
			[]string{"verb", "host"}),
	}
	size := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_" + name + "_size_bytes", Help: help,
			Buckets: []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}},
			[]string{"verb", "host"})
	}
	m.sent = size("request", "Bytes of what clients in this process send, by verb and host.")
	m.received = size("response", "Bytes of responses to clients in this process, without watches, by verb and host.")
	r.MustRegister(m.requests, m.duration, m.sent, m.received)
	return m
}

// Done counts a request with a body of size bytes. code is 0 without a response.
func (m *Clients) Done(method, host string, size int64, code int, took time.Duration) {
	text := "<error>"
	if code != 0 {
		text = strconv.Itoa(code)
	}
	m.requests.WithLabelValues(text, method, host).Inc()
	m.duration.WithLabelValues(method, host).Observe(took.Seconds())
	m.sent.WithLabelValues(method, host).Observe(float64(size))
}

// Received counts a response body of size bytes.
func (m *Clients) Received(method, host string, size int64) {
	m.received.WithLabelValues(method, host).Observe(float64(size))
}
