package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestAllowedLabels(t *testing.T) {
	r := prometheus.NewRegistry()
	hits := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hits", Help: "h"}, []string{"code", "verb"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "took", Help: "h", Buckets: []float64{1}}, []string{"verb"})
	other := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "other", Help: "h"}, []string{"verb"})
	r.MustRegister(hits, took, other)
	for i, verb := range []string{"get", "list", "watch"} {
		hits.WithLabelValues("200", verb).Add(float64(i + 1))
		took.WithLabelValues(verb).Observe(float64(i))
		other.WithLabelValues(verb).Set(1)
	}
	allowed := AllowedLabels{"hits": {"verb": {"list"}}, "took": {"verb": {}}, "absent": {"x": {"y"}}}
	want := `
# HELP hits h
# TYPE hits counter
hits{code="200",verb="list"} 2
hits{code="200",verb="unexpected"} 4
# HELP other h
# TYPE other gauge
other{verb="get"} 1
other{verb="list"} 1
other{verb="watch"} 1
# HELP took h
# TYPE took histogram
took_bucket{verb="unexpected",le="1"} 2
took_bucket{verb="unexpected",le="+Inf"} 3
took_sum{verb="unexpected"} 3
took_count{verb="unexpected"} 3
`
	for range 2 { // what is gathered changes nothing in the registry
		if err := testutil.GatherAndCompare(allowed.Restrict(r), strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	}
	if n := testutil.ToFloat64(hits.WithLabelValues("200", "get")); n != 1 {
		t.Errorf("the counter itself is %v", n)
	}
}

// Merged series have no native buckets.
func TestRestrictNativeHistograms(t *testing.T) {
	r := prometheus.NewRegistry()
	v := prometheus.NewHistogramVec(NewNative().MayBeNative(prometheus.HistogramOpts{Name: "h", Buckets: []float64{1}}), []string{"l"})
	r.MustRegister(v)
	for _, l := range []string{"a", "b", "c"} {
		v.WithLabelValues(l).Observe(2)
	}
	families, err := AllowedLabels{"h": {"l": {"a"}}}.Restrict(r).Gather()
	if err != nil || len(families) != 1 || len(families[0].Metric) != 2 {
		t.Fatalf("%v, %v", families, err)
	}
	for _, m := range families[0].Metric {
		h := m.GetHistogram()
		if merged := m.Label[0].GetValue() == unexpected; merged != (h.GetSampleCount() == 2) || merged == (len(h.PositiveSpan) > 0) {
			t.Errorf("%v", m)
		}
	}
}
