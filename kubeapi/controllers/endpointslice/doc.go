// Package endpointslice keeps the EndpointSlices of Services: of those that select
// pods from the pods, of others from the Endpoints that somebody writes for them
// (mirroring). Slices hold at most 100 endpoints, all of one address family and with
// the same ports; endpoints stay in their slice while they are there, so that a
// change touches few slices. Hints follow the service's trafficDistribution; the
// heuristics of the annotation service.kubernetes.io/topology-mode are not there.
package endpointslice
