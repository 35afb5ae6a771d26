// Package aggregator is the outermost of the three servers: it serves
// apiregistration.k8s.io and sends requests for the group versions of external
// API servers there.
//
// An APIService with a service is remote: while it exists, its group version's
// paths belong to a proxy, which answers 503 until the availability controller
// finds the service, its endpoints and its discovery document in order. An
// APIService without a service is local: its paths fall through to the delegate.
// Local ones register themselves, for all that the discovery of this process
// says (Autoregister).
//
// What only another server of the same storage serves is passed on to it (peers), behind
// the APIServices and before the delegate.
//
// All controllers here work on events: of the APIService cache for
// registrations, of Services and EndpointSlices, which are watched only while
// there is a remote APIService, and of discovery.
package aggregator
