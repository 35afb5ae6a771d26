// Package podgc deletes pods that no kubelet will: pods of nodes that are gone, pods that are
// being deleted and have no node or one that is out of service, and the oldest of the pods
// that have ended, where there are too many.
//
// As in kube-controller-manager, a node that never existed is one that is gone: pods that
// name it are deleted after 40 s, and the log reports it.
//
// Pods and nodes are checked a while after one of them has changed, and not while nothing changes.
package podgc
