// Package filters is the HTTP filter chain: what every request passes before the
// Director of the outermost server sees it, one file a filter.
//
// # The chain
//
// links lists the filters, outermost first:
//
//	stack                the goroutine's stack gets the size that a request needs
//	exchange             one allocation holds all that is known of the request;
//	                     long responses share the processors (package timeslice), and
//	                     those that are not taken occupy bounded memory
//	panicRecovery        a handler that panics answers 500
//	auditID              the request gets an id, which the response names
//	goaway               a fraction of HTTP/2 clients is asked to reconnect
//	requestInfo          path and query become a RequestInfo
//	metrics              the request is counted and timed
//	accessLog            with -v=3, the request is logged
//	slowRequestLog       requests that take long are logged with what took the time
//	retryAfter           429 while the server drains
//	waitGroup            shutdown waits for the request
//	termination          long-running requests end with the server
//	deadline             other requests end after --request-timeout
//	hsts                 Strict-Transport-Security
//	auditRecord          the request gets a record for the audit log
//	crossSite            with the console, other sites' pages change nothing; 403
//	cors                 cross-origin requests of browsers
//	publicFiles          the files of the console, which need no user
//	authentication       who asks; 401
//	tracing              the request gets a span, where spans are exported
//	audit                what is recorded of the request
//	impersonation        as whom; 403
//	priorityAndFairness  seats and queues by flow, or limits in flight; 429
//	authorization        may they; 403
//	plainAnswers         answers are not compressed
//
// Each filter's file says what it does, which options it has, which metrics it
// feeds, and why it stands where it does. A filter that does not apply, because
// its option is not set, is left out of the chain.
//
// # Options
//
// A filter declares its options in its own file, as a struct that Options embeds
// and that server.Config embeds in turn. Those that command-line flags set are in
// Settings; generic/run/options binds the flags to the fields directly. So a new flag
// of a filter is a field in the filter's file and a line in generic/run/options.
//
// # The exchange
//
// All that the filters find out about a request is in one exchange, which is also
// the request's context (request.State) and observes the response; it is the only
// allocation that every request pays for. Filters get it with exchangeOf; handlers
// behind the chain use the functions of package request.
package filters
