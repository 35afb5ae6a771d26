// Package discovery declares the kind of the group discovery.k8s.io/v1,
// EndpointSlice: a part of the addresses behind a Service.
//
// The type of the addresses is fixed, and all addresses of a slice are of it.
// metadata.generation counts changes of everything but the rest of the metadata
// beside labels and annotations.
package discovery
