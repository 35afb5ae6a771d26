// Package controllers runs what the API promises and a request alone cannot do:
// namespaces that are emptied, dependents that go with their owners, the objects
// that every namespace has, and so on. Each controller has a folder; table.go lists
// them, by the names that they have in kube-controller-manager, whose flag
// --controllers this one's is.
//
// The controllers begin when the server is ready, and stop before it does. Where
// several replicas share an etcd those of one replica work, which holds the Lease
// kube-system/triplane-controllers. While a kube-controller-manager holds its own
// Lease, kube-system/kube-controller-manager, all of them wait: the log says so, and
// the metric leader_election_master_status is 0.
//
// Controllers follow storage through one control.Feed and read objects from the
// server's watch caches; what they keep themselves are the keys that wait in their
// queues, and the garbage collector's graph of owners and dependents. They write
// through the loopback client, each as its service account in kube-system.
package controllers
