package requestmetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Labels for responses of other origin than a server of the chain.
const (
	// ByFilters is for responses of filters.
	ByFilters = "filters"
	// ByExternal is for requests that were proxied to the external server of an APIService, or to a peer.
	ByExternal = "external"
	// ByNone is for requests that no server claimed.
	ByNone = "none"
)

// Chain counts requests by the responding server of the chain. Its labels are the names that Know added and the
// classes of status codes.
type Chain struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	servers  []*Traffic
}

// Traffic has the counters of one server.
type Traffic struct {
	name    string
	classes [6]prometheus.Counter // by the first digit of the code
	took    prometheus.Histogram
}

func newChain(r prometheus.Registerer) *Chain {
	c := &Chain{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triplane_chain_requests_total",
			Help: "Requests by the responding server of the chain, and the class of the HTTP response code."},
			[]string{"server", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "triplane_chain_request_duration_seconds",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10},
			Help:    "Seconds that requests took, without long-running ones, by the responding server of the chain."},
			[]string{"server"}),
	}
	r.MustRegister(c.requests, c.duration)
	c.Know(ByFilters, ByExternal, ByNone)
	return c
}

// Know adds servers. It must be called before the first request.
func (c *Chain) Know(names ...string) {
	for _, name := range names {
		if c.Traffic(name) != nil {
			continue
		}
		t := &Traffic{name: name, took: c.duration.WithLabelValues(name).(prometheus.Histogram)}
		for class := 1; class < len(t.classes); class++ {
			t.classes[class] = c.requests.WithLabelValues(name, strconv.Itoa(class)+"xx")
		}
		c.servers = append(c.servers, t)
	}
}

// Observe counts a request. server is "" for responses of filters. Unknown servers are not counted.
func (c *Chain) Observe(server string, code int, took time.Duration, longRunning bool) {
	if server == "" {
		server = ByFilters
	}
	t := c.Traffic(server)
	if class := code / 100; t != nil && class > 0 && class < len(t.classes) {
		t.classes[class].Inc()
		if !longRunning {
			t.took.Observe(took.Seconds())
		}
	}
}

// Traffic returns the counters of a server, or nil if it is unknown.
func (c *Chain) Traffic(server string) *Traffic {
	for _, t := range c.servers {
		if t.name == server {
			return t
		}
	}
	return nil
}

// Totals are the counters of a server since the start.
type Totals struct {
	// Requests are counted by the class of their codes, such as "2xx".
	Requests map[string]uint64 `json:"requests"`
	// Seconds is the total duration of all requests that are not long-running.
	Seconds float64 `json:"seconds"`
	// Within is the cumulative histogram of these durations.
	Within []Bucket `json:"within"`
}

// Bucket is the number of requests that took at most Seconds.
type Bucket struct {
	Seconds float64 `json:"seconds"`
	Count   uint64  `json:"count"`
}

// Totals returns the current counts.
func (t *Traffic) Totals() Totals {
	out := Totals{Requests: map[string]uint64{}}
	for class, c := range t.classes {
		var m dto.Metric
		if c != nil && c.Write(&m) == nil && m.GetCounter().GetValue() > 0 {
			out.Requests[strconv.Itoa(class)+"xx"] = uint64(m.GetCounter().GetValue())
		}
	}
	var m dto.Metric
	if t.took.Write(&m) == nil {
		out.Seconds = m.GetHistogram().GetSampleSum()
		for _, b := range m.GetHistogram().GetBucket() {
			out.Within = append(out.Within, Bucket{b.GetUpperBound(), b.GetCumulativeCount()})
		}
	}
	return out
}
