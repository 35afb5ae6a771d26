// Package storage is the contract between the registry and the storage of objects.
//
// It is about keys and bytes, not about kinds. There are two interfaces:
//
//   - Backend is the key space of etcd: transactions with optimistic locking by modification revision,
//     ranges, leases, one watch. Package etcd implements it with a client; package embedded runs the etcd
//     server in this process.
//   - Cache serves the reads of one resource from memory: gets, lists with any resourceVersion semantics,
//     and watches. Package cache implements it. One Multiplexer feeds all caches of a server from one
//     etcd watch.
//
// A Record is one revision of one object. It is immutable, except for values that are derived from its bytes on
// first use (labels and fields for selectors, wire forms). It is safe for concurrent use.
//
// Keys are absolute: "/registry/configmaps/default/a". Revisions are modification revisions of etcd, which the
// API calls resourceVersion.
package storage
