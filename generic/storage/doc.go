// Package storage is the contract between the registry and what keeps objects.
//
// Everything here is about keys and bytes; nothing knows a kind. There are two
// halves:
//
//   - Backend is etcd seen as a key space: optimistic transactions on the
//     modification revision, ranges, leases, one watch. Package etcd implements
//     it over a client, package embedded runs the etcd server in this process.
//   - Cache answers the reads of one resource from memory: gets, lists at any
//     resourceVersion semantics, and watches. Package cache implements it; one
//     Multiplexer feeds all caches of a server from one etcd watch.
//
// A Record is one revision of one object. It is immutable but for what is
// derived from its bytes on first demand (labels and fields for selectors, wire forms),
// which is safe for concurrent use.
//
// Keys are absolute: "/registry/configmaps/default/a". Revisions are etcd
// modification revisions, which the API calls resourceVersion.
package storage
