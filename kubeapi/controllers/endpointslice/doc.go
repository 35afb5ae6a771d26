// Package endpointslice maintains the EndpointSlices of Services: from the pods that a Service selects, or from
// the Endpoints that users write for a Service without a selector (mirroring).
//
// Slices contain at most 100 endpoints of one address family with the same ports. Endpoints remain in their slice,
// so that a change affects few slices. Hints follow the Service's trafficDistribution; the heuristics of the
// annotation service.kubernetes.io/topology-mode are not implemented.
package endpointslice
