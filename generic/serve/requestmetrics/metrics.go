package requestmetrics

import (
	"triplane.dev/generic/api/watchmetrics"
	"triplane.dev/generic/base/metrics"
)

// Metrics are the metrics of a server: its registry, and those of requests.
type Metrics struct {
	*metrics.Registry
	// Requests counts requests in the filter chain.
	Requests *Requests
	// Chain counts requests by the responding server of the chain.
	Chain *Chain
	// Auth counts authentication and authorization, Impersonation counts impersonations.
	Auth          *Auth
	Impersonation *Impersonation
	// Stalls counts requests that wait for their clients.
	Stalls *Stalls
	// Clients measures the requests of clients in this process.
	Clients *Clients
	// Watches measures the events of watches.
	Watches *watchmetrics.Metrics
}

// New returns the metrics in a new registry.
func New() *Metrics { return In(metrics.New()) }

// In registers the metrics in a registry.
func In(r *metrics.Registry) *Metrics {
	return &Metrics{
		Registry:      r,
		Requests:      newRequests(r),
		Chain:         newChain(r),
		Auth:          newAuth(r),
		Impersonation: newImpersonation(r),
		Stalls:        newStalls(r),
		Clients:       newClients(r),
		Watches:       watchmetrics.New(r),
	}
}
