// Package podgc deletes pods that nobody else will: those of nodes that are gone,
// those that are being deleted without a node, or on one that is out of service, and the oldest of those that have
// ended, where there are too many.
//
// As at kube-controller-manager a node that never was is one that is gone: pods that
// name it go after 40 s. The log says so.
//
// Pods and nodes are looked through a while after one of them has changed; while
// nothing changes nothing is done.
package podgc
