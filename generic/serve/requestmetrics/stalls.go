package requestmetrics

import "github.com/prometheus/client_golang/prometheus"

// Stalls counts requests that wait for their clients to read the response or to send the body. All methods are
// safe for concurrent use.
type Stalls struct {
	requests, bytes prometheus.Gauge
	ended           *prometheus.CounterVec
}

func newStalls(r prometheus.Registerer) *Stalls {
	s := &Stalls{
		requests: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triplane_stalled_requests",
			Help: "Requests that wait for their clients to read the response or to send the body; they occupy no seats."}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triplane_stalled_request_bytes",
			Help: "Estimated bytes of memory of stalled requests, which are limited per user and in total."}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triplane_stalled_ended_total",
			Help: "Stalled requests, over the bound of their user or of the server or after their time, and connections " +
				"that the server has ended."}, []string{"reason"}),
	}
	r.MustRegister(s.requests, s.bytes, s.ended)
	return s
}

// Add adds to the number of stalled requests and of the bytes that they hold.
func (s *Stalls) Add(requests int, bytes int64) {
	s.requests.Add(float64(requests))
	s.bytes.Add(float64(bytes))
}

// Ended counts a request that was ended because of the limit "user", "server" or "time", or a closed
// "connection".
func (s *Stalls) Ended(reason string) { s.ended.WithLabelValues(reason).Inc() }
