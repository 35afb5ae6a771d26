package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"triplane.dev/internal/worker"
)

// Registry has the metrics of one server. The packages that observe something register them. OnForget and
// BeforeGather must be called before the server runs.
type Registry struct {
	*prometheus.Registry
	// Queues measures the work queues of controllers in this process.
	Queues *Queues

	native       bool
	nested       bool // not gathered
	onForget     []func(Gone)
	beforeGather []func()
	reset        reset
}

// New returns a registry with the metrics of the Go runtime and the process.
func New() *Registry { return newRegistry(false) }

// NewNative is New with histograms that are also native (gate NativeHistograms): a scrape with protobuf returns
// both kinds of buckets. The same histograms are native as in kube-apiserver, except those of priority and
// fairness.
func NewNative() *Registry { return newRegistry(true) }

func newRegistry(native bool) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry(), native: native}
	r.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "triplane_worker_panics_total", Help: "Panics of goroutines that serve no request, in this process.",
	}, func() float64 { return float64(worker.Panics()) }))
	r.Queues = newQueues(r.Registry)
	return r
}

// Nested returns a registry for a chain of servers that lasts less long than r, and shares its work queues. What the
// chain registers is not gathered with r and ends with the chain. Forget deletes series of r, too.
func (r *Registry) Nested() *Registry {
	n := &Registry{Registry: prometheus.NewRegistry(), Queues: r.Queues, native: r.native, nested: true}
	n.OnForget(r.Forget)
	return n
}

// Gathers reports whether metrics that are registered are gathered: not by nil, nor by a registry of Nested.
func (r *Registry) Gathers() bool { return r != nil && !r.nested }

// maxNativeBuckets limits the buckets of a series.
const maxNativeBuckets = 160

// MayBeNative returns the options of a histogram, with native buckets if the registry has them.
func (r *Registry) MayBeNative(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	if r.native {
		o.NativeHistogramBucketFactor, o.NativeHistogramMaxBucketNumber, o.NativeHistogramMinResetDuration = 1.1,
			maxNativeBuckets, time.Hour
	}
	return o
}

// BeforeGather adds a function that is called before each gathering. It may delete series.
func (r *Registry) BeforeGather(f func()) { r.beforeGather = append(r.beforeGather, f) }

// Gather implements prometheus.Gatherer.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) {
	for _, f := range r.beforeGather {
		f()
	}
	families, err := r.Registry.Gather()
	return r.reset.since(families), err
}

// Shared registers a collector and returns it. If an equal one is registered, it returns that one, so that several
// components can count in it.
func Shared[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		return registered.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // as MustRegister does
	}
	return c
}

// LabelsOf returns the labels of all series of a vector.
func LabelsOf(v *prometheus.MetricVec) (found []prometheus.Labels) {
	all := make(chan prometheus.Metric)
	worker.Go(func() {
		defer close(all)
		v.Collect(all)
	})
	for m := range all {
		var written dto.Metric
		if m.Write(&written) != nil {
			continue
		}
		labels := make(prometheus.Labels, len(written.Label))
		for _, l := range written.Label {
			labels[l.GetName()] = l.GetValue()
		}
		found = append(found, labels)
	}
	return found
}
