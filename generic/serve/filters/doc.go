// Package filters is the HTTP filter chain. Every request passes it before it reaches the Director of the
// outermost server. Each file has one filter.
//
// # The chain
//
// defaultFilters lists the filters, outermost first:
//
//	stack                grows the goroutine's stack to the size that a request needs
//	exchange             allocates the state of the request, shares processors
//	                     between long responses and others (package timeslice),
//	                     and bounds the memory of stalled responses
//	panicRecovery        responds 500 if a handler panics
//	auditID              gives the request an ID, which the response repeats
//	goaway               asks a fraction of HTTP/2 clients to reconnect
//	requestInfo          parses path and query into a RequestInfo
//	metrics              counts and times the request
//	accessLog            logs the request (-v=3)
//	slowRequestLog       logs slow requests with the duration of each step
//	retryAfter           responds 429 while the server drains
//	waitGroup            makes shutdown wait for the request
//	termination          ends long-running requests at shutdown
//	deadline             ends other requests after --request-timeout
//	hsts                 adds Strict-Transport-Security
//	auditRecord          creates the record for the audit log
//	crossSite            rejects mutating requests of other sites' pages; 403
//	cors                 allows cross-origin requests of browsers
//	publicFiles          serves the console's files without authentication
//	authentication       determines the user; 401
//	tracing              creates a span, if spans are exported
//	audit                records the request according to the policy
//	impersonation        determines the impersonated user; 403
//	priorityAndFairness  queues requests by flow, or limits those in flight; 429
//	authorization        authorizes the request; 403
//	uncompressed         disables compression of responses
//
// The comment of each filter names its options, its metrics and the reason for its place. A filter whose option is
// not set is not part of the chain.
//
// # Options
//
// A filter declares its options as a struct in its own file. Options embeds these structs, and server.Config
// embeds Options. Settings has those that command-line flags set; generic/run/options binds flags directly to the
// fields. A new flag of a filter needs a field in the filter's file and a line in generic/run/options.
//
// # The exchange
//
// The exchange has all state of a request. It is the request's context (request.State) and observes the response.
// It is the only allocation that every request needs. Filters get it with exchangeOf. Handlers after the chain use
// the functions of package request.
package filters
