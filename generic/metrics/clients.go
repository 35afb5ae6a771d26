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
}

func newClients(r prometheus.Registerer) *Clients {
	m := &Clients{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total",
			Help: "Requests of clients in this process, by status code, method and host."}, []string{"code", "method", "host"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_request_duration_seconds",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0},
			Help:    "Seconds until the header of the answer to a request of a client in this process, by verb and host."}, []string{"verb", "host"}),
	}
	r.MustRegister(m.requests, m.duration)
	return m
}

// Done counts a request; code 0 is one without an answer.
func (m *Clients) Done(method, host string, code int, took time.Duration) {
	text := "<error>"
	if code != 0 {
		text = strconv.Itoa(code)
	}
	m.requests.WithLabelValues(text, method, host).Inc()
	m.duration.WithLabelValues(method, host).Observe(took.Seconds())
}
