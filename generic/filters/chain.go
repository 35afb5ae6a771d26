package filters

import (
	"net/http"
	"runtime"

	"triplane/generic/turns"
)

// filter wraps a handler.
type filter = func(http.Handler) http.Handler

// Chain wraps the director in all filters, outermost first as listed here.
// Settings must be valid.
func Chain(director http.Handler, o Options) http.Handler {
	filters := []filter{
		withStack,
		withExchange(turns.New(runtime.GOMAXPROCS(0))),
		withPanicRecovery(o.Metrics),
		withAuditID,
		withGoaway(o.GoawayOptions),
		withRequestInfo(o.RequestInfoOptions),
		withMetrics(o.Metrics),
		withAccessLog,
		withSlowRequestLog,
		withRetryAfter(o.RetryAfterOptions, o.WaitGroupOptions),
		withWaitGroup(o.WaitGroupOptions),
		withTermination(o.TerminationOptions),
		withDeadline(o.DeadlineOptions, o.Metrics),
		withHSTS(o.HSTSOptions),
		withCORS(o.CORSOptions),
		withAuditRecord(o.AuditOptions),
		withAuthentication(o.AuthenticationOptions, o.Metrics),
		withTracing(o.TracingOptions),
		withAudit(o.AuditOptions),
		withImpersonation(o.AuthorizationOptions, o.Metrics),
		withPriorityAndFairness(o.PriorityAndFairnessOptions, o.InFlightOptions, o.Metrics),
		withAuthorization(o.AuthorizationOptions, o.Metrics),
		withPlainAnswers(o.CompressionOptions),
	}
	handler := director
	for i := len(filters) - 1; i >= 0; i-- {
		handler = filters[i](handler)
	}
	return handler
}

// unchanged is a filter that is left out.
func unchanged(next http.Handler) http.Handler { return next }
