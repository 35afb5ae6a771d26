// Package podgc deletes pods that no kubelet deletes: pods of missing nodes, pods that are being deleted and have
// no node or one that is out of service, and the oldest terminated pods beyond the threshold.
//
// As in kube-controller-manager, a node that never existed counts as missing: its pods are deleted after 40 s,
// which is logged.
//
// Pods and nodes are checked some time after one of them has changed, and not while nothing changes.
package podgc
