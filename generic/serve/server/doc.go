// Package server is the generic API server. Triplane chains three of them.
//
//	Config → Complete → New(name, delegate) → InstallAPIGroups, AddPostStartHook… → PrepareRun → Run(ctx)
//
// The Director of a GenericAPIServer looks up a request in the services of API resources and then in the
// PathRecorderMux. It delegates requests that match neither. The chain ends in the EmptyDelegate, which responds
// 404. Only the outermost server is prepared and run: it wraps the chain in the filters, serves it over TLS, and
// runs all hooks and health checks.
//
// # Startup
//
// Run starts the listener, then starts every PostStartHook in a separate goroutine. The server is ready (/readyz)
// when all hooks have returned and every health check passes. If a hook fails, Run returns its error.
//
// # Shutdown
//
// When Run's context is done:
//
//  1. /readyz fails, and the PreShutdownHooks run. The server still serves for ShutdownDelayDuration.
//  2. The server stops accepting connections and cancels long-running requests.
//  3. It waits for requests in flight, at most RequestTimeout, and ten seconds for their bodies.
//  4. It cancels the context of hooks and of Go's goroutines, and waits for them.
//
// After Run has returned, no goroutine of the server runs, so its storage may be closed.
package server
