package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"triplane.dev/internal/worker"
)

// Registry has the metrics of one server. Other packages register further collectors.
type Registry struct {
	*prometheus.Registry
	// Requests counts requests in the filter chain.
	Requests *Requests
	// Chain counts requests by the responding server of the chain.
	Chain *Chain
	// Auth counts authentication and authorization.
	Auth *Auth
	// Audit counts audit events.
	Audit *Audit
	// Admission counts plugins, webhooks and policies.
	Admission *Admission
	// Storage counts requests to etcd, Watches the events of watches.
	Storage *Storage
	Watches *Watches
	// Expressions measures the validation rules of custom resources.
	Expressions *Expressions
	// Impersonation counts impersonations.
	Impersonation *Impersonation
	// Clients measures the clients in this process, Queues the work queues of its controllers.
	Clients *Clients
	Queues  *Queues
	// TokenCache, CertificateRequests, Allocation and PodSecurity are documented at their types.
	TokenCache          *TokenCache
	CertificateRequests *CertificateRequests
	Allocation          *Allocation
	PodSecurity         *PodSecurity
	// Stalls counts requests that wait for their clients.
	Stalls *Stalls
	// Peers counts requests that are proxied to peers.
	Peers *Peers
	// WebhookCertificates and AggregatorCertificates count deprecated certificates of webhooks and of external
	// API servers.
	WebhookCertificates, AggregatorCertificates *Certificates

	// perResource are the vectors that FollowResources added.
	perResource []*prometheus.MetricVec
}

// New returns a registry with all metrics of the server, the Go runtime and the process.
func New() *Registry { return newRegistry(classic) }

// NewNative is New with histograms that are also native (gate NativeHistograms): a scrape with protobuf returns
// both kinds of buckets. The same histograms are native as in kube-apiserver, except those of priority and
// fairness.
func NewNative() *Registry { return newRegistry(native) }

// scale selects the buckets of histograms.
type scale bool

const (
	classic scale = false
	native  scale = true
)

// maxNativeBuckets limits the buckets of a series.
const maxNativeBuckets = 160

// of adds the options of native histograms.
func (s scale) of(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	if s == native {
		o.NativeHistogramBucketFactor, o.NativeHistogramMaxBucketNumber, o.NativeHistogramMinResetDuration = 1.1,
			maxNativeBuckets, time.Hour
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
