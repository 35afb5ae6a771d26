package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// After a reset, counters and histograms show what they have counted since, also those whose series are held.
func TestReset(t *testing.T) {
	r := New()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests"}, []string{"verb"})
	writes := prometheus.NewCounter(prometheus.CounterOpts{Name: "writes"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "seconds", Buckets: []float64{1, 2}},
		[]string{"verb"})
	depth := prometheus.NewGauge(prometheus.GaugeOpts{Name: "depth"})
	r.MustRegister(requests, writes, seconds, depth)
	get, list := requests.WithLabelValues("get"), seconds.WithLabelValues("list")
	get.Add(5)
	requests.WithLabelValues("list").Inc()
	writes.Inc()
	list.Observe(1.5)
	seconds.WithLabelValues("get").Observe(3)
	depth.Set(4)
	if err := r.Reset(); err != nil {
		t.Fatal(err)
	}
	get.Add(2)
	list.Observe(0.5)
	requests.WithLabelValues("watch").Inc()
	want := `# HELP depth
# TYPE depth gauge
depth 4
# HELP requests
# TYPE requests counter
requests{verb="get"} 2
requests{verb="watch"} 1
# HELP seconds
# TYPE seconds histogram
seconds_bucket{verb="list",le="1"} 1
seconds_bucket{verb="list",le="2"} 1
seconds_bucket{verb="list",le="+Inf"} 1
seconds_sum{verb="list"} 0.5
seconds_count{verb="list"} 1
# HELP writes
# TYPE writes counter
writes 0
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "depth", "requests", "seconds", "writes"); err != nil {
		t.Error(err)
	}
	// What was deleted and counts again begins with what it counts.
	requests.Reset()
	requests.WithLabelValues("get").Add(9)
	want = "# HELP requests\n# TYPE requests counter\nrequests{verb=\"get\"} 9\n"
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "requests"); err != nil {
		t.Error(err)
	}
}
