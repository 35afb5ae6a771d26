// Package metrics has the server's Prometheus metrics, with the names and labels of kube-apiserver. Each server
// has its own Registry; nothing is global.
//
// The filters observe requests through Requests and Auth. Their methods are safe for concurrent use and do not
// allocate for an existing series. The number of series is limited: only successful requests create new ones,
// so that clients cannot fill the memory with invented resources. Packages with own counters (storage, caches,
// the aggregator) register collectors, which are read on each scrape.
package metrics
