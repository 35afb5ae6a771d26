// Package server is the generic API server, of which Triplane stacks three.
//
//	Config → Complete → New(name, delegate) → InstallAPIGroups, AddPostStartHook… → PrepareRun → Run(ctx)
//
// A GenericAPIServer answers what its Director finds in its go-restful container
// or its PathRecorderMux; all else goes to its delegate, and at the end of the
// chain to the EmptyDelegate, which answers 404. Only the outermost server is
// prepared and run: it wraps the chain in the filters, serves it over TLS, and
// runs the hooks and health checks of all.
//
// # Starting
//
// Run opens the listener's gate, then starts every PostStartHook in a goroutine
// of its own. The server is ready (/readyz) when all of them have returned and
// every health check passes. A hook that fails ends Run with its error.
//
// # Stopping
//
// When Run's context ends, /readyz fails at once and the PreShutdownHooks run,
// while the server goes on answering for ShutdownDelayDuration. Then it stops
// accepting connections, cancels long-running requests, waits for requests
// in flight (at most RequestTimeout, and ten seconds for their bodies), ends the context of hooks and of Go's
// goroutines and waits for those. When Run has returned nothing of the server
// runs any more, so its storage may be closed.
package server
