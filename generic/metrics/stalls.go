package metrics

import "github.com/prometheus/client_golang/prometheus"

// Stalls counts responses whose clients do not take them. All methods are safe for
// concurrent use.
type Stalls struct {
	responses, bytes prometheus.Gauge
	ended            *prometheus.CounterVec
}

func newStalls(r prometheus.Registerer) *Stalls {
	s := &Stalls{
		responses: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triplane_stalled_responses",
			Help: "Responses that wait for their clients to take them; they occupy no seats."}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "triplane_stalled_response_bytes",
			Help: "Estimate of the bytes that stalled responses keep in memory, which is bounded per user and together."}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triplane_stalled_ended_total",
			Help: "Stalled responses (over the bound of their user, or of the server; after the time for one) and connections that the server has ended."},
			[]string{"reason"}),
	}
	r.MustRegister(s.responses, s.bytes, s.ended)
	return s
}

// Add changes how many responses are stalled, and how many bytes they keep.
func (s *Stalls) Add(responses int, bytes int64) {
	s.responses.Add(float64(responses))
	s.bytes.Add(float64(bytes))
}

// Ended counts a response that was ended for a reason: "user", "server" or "time", or a "connection".
func (s *Stalls) Ended(reason string) { s.ended.WithLabelValues(reason).Inc() }
