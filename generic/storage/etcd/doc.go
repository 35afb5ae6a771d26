// Package etcd implements storage.Backend over etcd's v3 API.
//
// It has two layers. Store holds the operations that are one request and one
// answer (get, range, create, update, delete, compact, leases); it works on
// anything that speaks the v3 key-value messages: a client's connection, or the
// server in this process (package embedded). Backend adds to it what needs a
// client: the watch, revisions, the size of the database.
//
// Every write is one transaction: it compares the key's modification revision
// and, where that fails, returns what is there now in the same round trip.
//
// Compactor drops history at an interval, agreed among all replicas through one
// key in etcd, the one that kube-apiserver uses too.
package etcd
