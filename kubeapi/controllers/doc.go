// Package controllers runs the controllers that the API needs: they empty deleted namespaces, delete dependents of
// deleted owners, create the objects of every namespace, and so on. Each controller has a folder; table.go lists
// them with their names in kube-controller-manager. The flag --controllers has the syntax of
// kube-controller-manager's.
//
// The controllers start when the server is ready, and stop before the server does. If several replicas share an
// etcd, only those of one replica run: it holds the Lease kube-system/triplane-controllers. While a
// kube-controller-manager holds its Lease, kube-system/kube-controller-manager, all controllers wait: this is
// logged, and the metric leader_election_master_status is 0.
//
// Controllers follow storage through one control.Feed and read objects from the server's watch caches. Their own
// state is limited to the keys in their queues, and the garbage collector's graph of owners and dependents. They
// write with the loopback client, each as its service account in kube-system.
package controllers
