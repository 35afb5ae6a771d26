package filters

import (
	"cmp"
	"net/http"
	"runtime"

	"triplane/generic/base/timeslice"
)

// filter wraps a handler.
type filter = func(http.Handler) http.Handler

// link is a filter of the chain under its name; a nil one is left out.
type link struct {
	name string
	filter
}

// links are the filters, outermost first.
func links(o *Options) []link {
	return []link{
		{"stack", withStack},
		{"exchange", withExchange(timeslice.New(runtime.GOMAXPROCS(0)), newStalls(o.Metrics, cmp.Or(o.stalledLimit, StalledLimit)))},
		{"panicRecovery", withPanicRecovery(o.Metrics)},
		{"auditID", withAuditID},
		{"goaway", withGoaway(o.GoawayOptions)},
		{"requestInfo", withRequestInfo(o.RequestInfoOptions)},
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
		{"plainAnswers", withPlainAnswers(o.CompressionOptions)},
	}
}

// Chain wraps the director in all filters, outermost first as links lists them.
// Settings must be valid.
func Chain(director http.Handler, o Options) http.Handler {
	all := links(&o)
	handler := director
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].filter != nil {
			handler = all[i].filter(handler)
		}
	}
	return handler
}
