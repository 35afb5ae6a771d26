package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"triplane/internal/worker"
)

// Registry is the metrics of one server. Further collectors are registered with
// MustRegister.
type Registry struct {
	*prometheus.Registry
	// Requests counts what the filter chain sees.
	Requests *Requests
	// Chain counts requests by the server of the chain that answered.
	Chain *Chain
	// Auth counts authentication and authorization.
	Auth *Auth
	// Audit counts audit events.
	Audit *Audit
	// Admission counts plugins, webhooks and policies.
	Admission *Admission
	// Storage counts requests to etcd, Watches what watches send.
	Storage *Storage
	Watches *Watches
	// Expressions is how long the rules of custom resources take.
	Expressions *Expressions
	// Impersonation counts users who act as others.
	Impersonation *Impersonation
	// Clients measures the clients of this process, Queues the work queues of its
	// controllers.
	Clients *Clients
	Queues  *Queues
	// TokenCache, CertificateRequests, Allocation and PodSecurity are what their types say.
	TokenCache          *TokenCache
	CertificateRequests *CertificateRequests
	Allocation          *Allocation
	PodSecurity         *PodSecurity
	// Stalls counts requests that wait for their clients.
	Stalls *Stalls
	// Peers counts what is passed on to other servers of the same storage.
	Peers *Peers
	// WebhookCertificates and AggregatorCertificates count the certificates of
	// webhooks and of external API servers.
	WebhookCertificates, AggregatorCertificates *Certificates

	// perResource are vectors of others that have series for resources.
	perResource []*prometheus.MetricVec
}

// New returns a registry with all of the server's metrics in it, and those of
// the Go runtime and the process.
func New() *Registry { return newRegistry(classic) }

// NewNative is New with histograms that are native besides (gate NativeHistograms): scrapers that
// take protobuf get them with both kinds of buckets. Those that kube-apiserver has so are, but for
// those of priority and fairness, which are counted elsewhere.
func NewNative() *Registry { return newRegistry(native) }

// scale is which buckets histograms have.
type scale bool

const (
	classic scale = false
	native  scale = true
)

// maxNativeBuckets bounds the buckets of a series.
const maxNativeBuckets = 160

// of completes a histogram's options.
func (s scale) of(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	if s == native {
		o.NativeHistogramBucketFactor, o.NativeHistogramMaxBucketNumber, o.NativeHistogramMinResetDuration = 1.1, maxNativeBuckets, time.Hour
	}
	return o
}

func newRegistry(s scale) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	r.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "triplane_worker_panics_total", Help: "Panics of goroutines that serve no request, in this process.",
	}, func() float64 { return float64(worker.Panics()) }))
	r.Requests = newRequests(r.Registry, s)
	r.Chain = newChain(r.Registry)
	r.Auth = newAuth(r.Registry)
	r.Audit = newAudit(r.Registry)
	r.WebhookCertificates = newCertificates(r.Registry, "apiserver_webhooks")
	r.AggregatorCertificates = newCertificates(r.Registry, "apiserver_kube_aggregator")
	r.Admission = newAdmission(r.Registry, r.WebhookCertificates)
	r.Storage = newStorage(r.Registry, s)
	r.Watches = newWatches(r.Registry, s)
	r.Expressions = newExpressions(r.Registry)
	r.Impersonation = newImpersonation(r.Registry)
	r.Clients = newClients(r.Registry)
	r.Queues = newQueues(r.Registry)
	r.Stalls = newStalls(r.Registry)
	r.Peers = newPeers(r.Registry)
	r.TokenCache = newTokenCache(r.Registry)
	r.Allocation = newAllocation(r.Registry)
	r.PodSecurity = newPodSecurity(r.Registry)
	r.CertificateRequests = newCertificateRequests(r.Registry)
	return r
}
