// Package pod is the Pod: its declaration, the rules for its writes, its table and
// its subresources, those that store (status, resize, ephemeralcontainers,
// binding, eviction) and those that lead to a node's kubelet (log, exec, attach,
// portforward, proxy). What pods and pod templates have in common is in
// kubeapi/podspec.
package pod
