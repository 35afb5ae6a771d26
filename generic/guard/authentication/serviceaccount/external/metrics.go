package external

import (
	"context"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Metrics measures calls of the signer. A nil Metrics measures nothing.
type Metrics struct {
	fetchedAt, dataFrom prometheus.Gauge
	fetches, signed     *prometheus.CounterVec
	took                *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	const prefix = "apiserver_externaljwt_"
	m := &Metrics{
		fetchedAt: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "fetch_keys_success_timestamp",
			Help: "Unix time of the last successful fetch of keys."}),
		dataFrom: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "fetch_keys_data_timestamp",
			Help: "Unix time of the last fetched keys according to the signer."}),
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "fetch_keys_request_total",
			Help: "Fetches of keys, by code."}, []string{"code"}),
		signed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "sign_request_total",
			Help: "Requests to sign, by code."}, []string{"code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "request_duration_seconds",
			Help:    "Seconds that calls of the signer took, by method and code.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"method", "code"}),
	}
	registry.MustRegister(m.fetchedAt, m.dataFrom, m.fetches, m.signed, m.took)
	return m
}

// intercept implements grpc.UnaryClientInterceptor.
func (m *Metrics) intercept(ctx context.Context, method string, request, reply any, c *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	start := time.Now()
	err := invoke(ctx, method, request, reply, c, options...)
	if m == nil {
		return err
	}
	name, code := path.Base(method), status.Code(err).String()
	m.took.WithLabelValues(name, code).Observe(time.Since(start).Seconds())
	switch name {
	case "FetchKeys":
		m.fetches.WithLabelValues(code).Inc()
	case "Sign":
		m.signed.WithLabelValues(code).Inc()
	}
	return err
}

func (m *Metrics) fetched(data time.Time) {
	if m != nil {
		m.fetchedAt.SetToCurrentTime()
		m.dataFrom.Set(float64(data.Unix()) + float64(data.Nanosecond())/float64(time.Second))
	}
}
