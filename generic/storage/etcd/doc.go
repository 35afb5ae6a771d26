// Package etcd implements storage.Backend with etcd's v3 API.
//
// It has two layers. Store has the operations that are one request (get, range, create, update, delete,
// compact, leases). It works on any implementation of the v3 key-value API: the connection of a client, or the
// server in this process (package embedded). Backend adds the operations that need a client: the watch,
// revisions, the size of the database.
//
// Every write is one transaction. It compares the modification revision of the key. If that differs, the
// transaction returns the current value, without another round trip.
//
// RunCompactor compacts the history at an interval. All replicas coordinate through one key in etcd, which
// kube-apiserver also uses.
package etcd
