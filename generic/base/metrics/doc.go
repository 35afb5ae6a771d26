// Package metrics holds the server's Prometheus metrics, with the names and labels
// of kube-apiserver's. Nothing is global: each server has a Registry.
//
// The filters observe requests through Requests and Auth, whose methods are safe
// for concurrent use and do not allocate for a series that exists. The number of
// series is bounded: only requests that succeed make new ones, so that clients
// cannot fill the memory with invented resources. Packages that count for themselves
// (storage, caches, the aggregator) register collectors that are read when /metrics
// is.
package metrics
