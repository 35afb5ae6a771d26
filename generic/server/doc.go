// Package server is the generic API server, of which Triplane stacks three.
//
//	Config → Complete → New(name, delegate) → InstallAPIGroups, AddPostStartHook… → PrepareRun → Run(ctx)
//
// A GenericAPIServer answers what its Director finds in its go-restful container
// or its PathRecorderMux; all else goes to its delegate, and at the end of the
// chain to the EmptyDelegate, which answers 404. Only the outermost server is
// prepared and run: it wraps the chain in the filters, serves it over TLS, and
// runs the hooks and health checks of all.
package server
