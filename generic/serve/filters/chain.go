package filters

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"

	"triplane.dev/generic/base/timeslice"
)

// filter wraps a handler.
type filter = func(http.Handler) http.Handler

// Filter is a filter of the handler chain.
type Filter struct {
	// Name is unique in a chain: "authentication".
	Name string
	// Wrap returns the handler that calls the next one. A filter with a nil Wrap is skipped.
	Wrap func(next http.Handler) http.Handler
}

// filters returns the filters of the chain, outermost first.
func (o *Options) filters() []Filter {
	if o.BuildHandlerChain == nil {
		return defaultFilters(o)
	}
	return o.BuildHandlerChain(defaultFilters(o))
}

// defaultFilters returns the filters of this package, outermost first.
func defaultFilters(o *Options) []Filter {
	return []Filter{
		{"stack", withStack},
		{"exchange", withExchange(
			timeslice.New(runtime.GOMAXPROCS(0)), newStalls(o.Metrics, cmp.Or(o.stalledLimit, StalledLimit)), o.FormatOptions,
		)},
		{"panicRecovery", withPanicRecovery(o.Metrics)},
		{"auditID", withAuditID},
		{"goaway", withGoaway(o.GoawayOptions)},
		{"requestInfo", withRequestInfo(o.RequestInfoOptions, o.BuildHandlerChain == nil)},
		{"metrics", withMetrics(o.Metrics)},
		{"accessLog", withAccessLog},
		{"slowRequestLog", withSlowRequestLog},
		{"retryAfter", withRetryAfter(o.RetryAfterOptions, o.WaitGroupOptions)},
		{"waitGroup", withWaitGroup(o.WaitGroupOptions)},
		{"termination", withTermination(o.TerminationOptions)},
		{"deadline", withDeadline(o.DeadlineOptions, o.Metrics)},
		{"hsts", withHSTS(o.HSTSOptions)},
		{"auditRecord", withAuditRecord(o.AuditOptions)},
		{"crossSite", withCrossSite(o.CrossSiteOptions, o.CORSOptions)},
		{"cors", withCORS(o.CORSOptions)},
		{"publicFiles", withPublicFiles(o.PublicFilesOptions)},
		{"authentication", withAuthentication(o.AuthenticationOptions, o.Metrics)},
		{"tracing", withTracing(o.TracingOptions)},
		{"audit", withAudit(o.AuditOptions)},
		{"impersonation", withImpersonation(o.AuthorizationOptions, o.Metrics)},
		{"priorityAndFairness", withPriorityAndFairness(o.PriorityAndFairnessOptions, o.InFlightOptions, o.Metrics)},
		{"authorization", withAuthorization(o.AuthorizationOptions, o.Metrics)},
		{"uncompressed", withUncompressed(o.FormatOptions)},
	}
}

// Chain wraps the director in the filters of BuildHandlerChain or, by default, in all of this package. Settings must be
// valid.
func Chain(director http.Handler, o Options) http.Handler {
	handler := director
	for _, f := range slices.Backward(o.filters()) {
		if f.Wrap != nil {
			handler = f.Wrap(handler)
		}
	}
	return handler
}
