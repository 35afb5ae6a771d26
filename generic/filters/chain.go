// Package filters is the HTTP filter chain: what every request passes before a
// server's Director sees it, one file a filter.
//
// All that the filters find out about a request is in one exchange, which is
// also the request's context (request.State) and watches the response; it is
// the only allocation that every request pays for. A filter that does not
// apply, as its option is not set, is left out of the chain.
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
	// Authentication says who makes a request; nil makes everybody
	// system:anonymous.
	Authentication authentication.Request
	// APIAudiences are what credentials that name audiences must be good for,
	// one of them; empty means any.
	APIAudiences []string
	// Authorization decides what they may; nil allows everything.
	Authorization  authorizer.Authorizer
	RequestTimeout time.Duration
	// LongRunning tells the requests without a deadline; nil means LongRunning
	// of this package.
	LongRunning                 func(r *http.Request, info *request.Info) bool
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
	CORSAllowedOrigins          []string
	HSTSDirectives              []string
	GoawayChance                float64
	Metrics                     *metrics.Registry
	// InFlight counts requests so that shutdown can wait for them.
	InFlight *WaitGroup
	// ShutdownSendRetryAfter answers 429 to requests that come while InFlight is
	// waited for.
	ShutdownSendRetryAfter bool
	// Terminating is closed when the server began to shut down: long-running
	// requests end then.
	Terminating <-chan struct{}
}

// Chain wraps the director in all filters, outermost first as listed here.
// CORSAllowedOrigins must be valid regular expressions (see CompileOrigins).
func Chain(director http.Handler, o Options) http.Handler {
	if o.LongRunning == nil {
		o.LongRunning = LongRunning
	}
	filters := []func(http.Handler) http.Handler{
		withStack,
		withExchange,
		withPanicRecovery(o.Metrics),
		withAuditID,
		withGoaway(o.GoawayChance),
		withRequestInfo(o.LongRunning),
		withMetrics(o.Metrics),
		withRetryAfter(o.InFlight, o.ShutdownSendRetryAfter),
		withWaitGroup(o.InFlight),
		withTermination(o.Terminating),
		withDeadline(o.RequestTimeout, o.Metrics),
		withHSTS(o.HSTSDirectives),
		withCORS(o.CORSAllowedOrigins),
		withAuthentication(o.Authentication, o.APIAudiences, o.Metrics),
		withImpersonation(o.Authorization),
		withInFlightLimits(o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight, o.Metrics),
		withAuthorization(o.Authorization, o.Metrics),
	}
	handler := director
	for i := len(filters) - 1; i >= 0; i-- {
		handler = filters[i](handler)
	}
	return handler
}

// unchanged is a filter that is left out.
func unchanged(next http.Handler) http.Handler { return next }
