package metrics

import (
	"strings"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// reset is what the counters and histograms had counted when they were set back, by family and labels. Nil before.
type reset struct {
	base atomic.Pointer[map[string]map[string]*dto.Metric]
}

// Reset sets the counters and histograms back: from then on, Gather returns what they count. A series with labels that
// has not counted anything since then is not returned. Gauges, and the counters of the Go runtime and of the process,
// stay as they are.
func (r *Registry) Reset() error {
	families, err := r.Registry.Gather()
	if err != nil {
		return err
	}
	base := map[string]map[string]*dto.Metric{}
	for _, f := range families {
		if !resets(f) {
			continue
		}
		series := make(map[string]*dto.Metric, len(f.Metric))
		for _, m := range f.Metric {
			series[labelsOf(m)] = m
		}
		base[f.GetName()] = series
	}
	r.reset.base.Store(&base)
	return nil
}

// resets reports whether a family is set back.
func resets(f *dto.MetricFamily) bool {
	if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
		return false
	}
	return f.GetType() == dto.MetricType_COUNTER || f.GetType() == dto.MetricType_HISTOGRAM
}

// since leaves in the families what was counted since the reset.
func (r *reset) since(families []*dto.MetricFamily) []*dto.MetricFamily {
	base := r.base.Load()
	if base == nil {
		return families
	}
	left := families[:0]
	for _, f := range families {
		if before := (*base)[f.GetName()]; before != nil {
			f.Metric = sinceOf(f.Metric, before)
		}
		if len(f.Metric) > 0 {
			left = append(left, f)
		}
	}
	return left
}

// sinceOf subtracts from the series of a family.
func sinceOf(series []*dto.Metric, before map[string]*dto.Metric) []*dto.Metric {
	left := series[:0]
	for _, m := range series {
		if was := before[labelsOf(m)]; was != nil && !subtract(m, was) && len(m.Label) > 0 {
			continue
		}
		left = append(left, m)
	}
	return left
}

// subtract takes from a counter or histogram what it had counted before, and reports whether something is left. One
// that was deleted and created again, or has counted less, stays as it is. Native buckets are dropped.
func subtract(m, was *dto.Metric) bool {
	switch {
	case m.Counter != nil && m.Counter.GetValue() >= was.GetCounter().GetValue() &&
		same(m.Counter.CreatedTimestamp, was.GetCounter().GetCreatedTimestamp()):
		m.Counter.Value = new(m.Counter.GetValue() - was.GetCounter().GetValue())
		return m.Counter.GetValue() != 0
	case m.Histogram != nil && m.Histogram.GetSampleCount() >= was.GetHistogram().GetSampleCount() &&
		same(m.Histogram.CreatedTimestamp, was.GetHistogram().GetCreatedTimestamp()):
		m.Histogram = difference(m.Histogram, was.GetHistogram())
		return m.Histogram.GetSampleCount() != 0
	}
	return true
}

// same reports whether the series with two times of creation are one.
func same(a, b *timestamppb.Timestamp) bool { return a.AsTime().Equal(b.AsTime()) }

func difference(h, was *dto.Histogram) *dto.Histogram {
	left := &dto.Histogram{SampleCount: new(h.GetSampleCount() - was.GetSampleCount()),
		SampleSum: new(h.GetSampleSum() - was.GetSampleSum()), CreatedTimestamp: h.CreatedTimestamp}
	counted := make(map[float64]uint64, len(was.GetBucket()))
	for _, b := range was.GetBucket() {
		counted[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	for _, b := range h.Bucket {
		left.Bucket = append(left.Bucket, &dto.Bucket{UpperBound: b.UpperBound, Exemplar: b.Exemplar,
			CumulativeCount: new(b.GetCumulativeCount() - counted[b.GetUpperBound()])})
	}
	return left
}

// labelsOf returns the labels of a series as one text.
func labelsOf(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(l.GetName())
		b.WriteByte('\xff')
		b.WriteString(l.GetValue())
		b.WriteByte('\xff')
	}
	return b.String()
}
