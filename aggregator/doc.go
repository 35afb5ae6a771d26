// Package aggregator is the outermost of the three servers. It serves apiregistration.k8s.io, and proxies requests
// for the group versions of external API servers.
//
// An APIService with a service is remote: its group version's paths belong to a proxy. The proxy responds 503
// until the availability controller has verified the service, its endpoints and its discovery document. An
// APIService without a service is local: requests for it are delegated. Local ones are registered automatically,
// for all group versions that discovery of this process contains (autoregister). Servers of a storage may serve other
// ones: the plain form of discovery lists those with APIServices, the aggregated form those that this server serves or
// proxies.
//
// Requests for resources that only another server of the same storage serves are proxied to that server (peers).
// APIServices take precedence over peers, and peers over the delegate.
//
// All controllers here are event-driven. Registrations follow the APIService cache and discovery. Services and
// EndpointSlices are watched only while there is a remote APIService.
package aggregator
