// Package metrics has the registry of a server's Prometheus metrics, and what the packages that observe something
// share to make theirs. Nothing is global: each server has its own Registry.
//
// A package with metrics has a type Metrics and a constructor NewMetrics, which registers them in the Registry and is
// called once for each server. Their names and labels are those of kube-apiserver. Methods of Metrics are safe for
// concurrent use, and do not allocate for an existing series on hot paths (Lazy, Current).
//
// The number of series is limited. Only successful requests create new ones, so that clients cannot fill the memory
// with invented resources, and OnForget and BeforeGather delete the series of deleted resources and objects.
package metrics
