package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// AllowedLabels are the allowed values of labels (--allow-metric-labels), by the names of metric and label.
// Labels without an entry may have any value.
type AllowedLabels map[string]map[string][]string

// unexpected replaces values that are not allowed.
const unexpected = "unexpected"

// Restrict returns a gatherer that replaces values of g that are not allowed, and merges series that have the
// same labels afterwards. With an empty a it returns g.
func (a AllowedLabels) Restrict(g prometheus.Gatherer) prometheus.Gatherer {
	if len(a) == 0 {
		return g
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := g.Gather()
		for _, f := range families {
			if allowed := a[f.GetName()]; allowed != nil {
				restrict(f, allowed)
			}
		}
		return families, err
	})
}

// restrict replaces the values of a family. It modifies the family except its label pairs, which are shared.
func restrict(f *dto.MetricFamily, allowed map[string][]string) {
	merged := map[string]*dto.Metric{}
	f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool {
		m.Label = slices.Clone(m.Label)
		for i, l := range m.Label {
			if values, ok := allowed[l.GetName()]; ok && !slices.Contains(values, l.GetValue()) {
				name, value := l.GetName(), unexpected
				m.Label[i] = &dto.LabelPair{Name: &name, Value: &value}
			}
		}
		key := labelKey(m)
		into, again := merged[key]
		if again {
			add(into, m)
		} else {
			merged[key] = m
		}
		return again
	})
	slices.SortFunc(f.Metric, func(x, y *dto.Metric) int { return cmp.Compare(labelKey(x), labelKey(y)) })
}

func labelKey(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(l.GetValue())
		b.WriteByte(0)
	}
	return b.String()
}

// add adds the values of m to into.
func add(into, m *dto.Metric) {
	switch {
	case into.Counter != nil:
		into.Counter.Value = sum(into.Counter.Value, m.Counter.Value)
		into.Counter.Exemplar = nil
	case into.Gauge != nil:
		into.Gauge.Value = sum(into.Gauge.Value, m.Gauge.Value)
	case into.Untyped != nil:
		into.Untyped.Value = sum(into.Untyped.Value, m.Untyped.Value)
	case into.Histogram != nil:
		h, other := into.Histogram, m.Histogram
		h.SampleCount, h.SampleSum = sum(h.SampleCount, other.SampleCount), sum(h.SampleSum, other.SampleSum)
		for i, b := range h.Bucket { // the bounds are equal within a vector
			if i < len(other.Bucket) {
				b.CumulativeCount = sum(b.CumulativeCount, other.Bucket[i].CumulativeCount)
				b.Exemplar = nil
			}
		}
		// The bounds of native buckets differ between series, so only the classic ones are kept.
		h.Schema, h.ZeroThreshold, h.ZeroCount = nil, nil, nil
		h.PositiveSpan, h.PositiveDelta, h.NegativeSpan, h.NegativeDelta = nil, nil, nil, nil
	case into.Summary != nil:
		s, other := into.Summary, m.Summary
		s.SampleCount, s.SampleSum = sum(s.SampleCount, other.SampleCount), sum(s.SampleSum, other.SampleSum)
		s.Quantile = nil // quantiles cannot be merged
	}
}

func sum[T uint64 | float64](a, b *T) *T {
	var s T
	for _, v := range []*T{a, b} {
		if v != nil {
			s += *v
		}
	}
	return &s
}
