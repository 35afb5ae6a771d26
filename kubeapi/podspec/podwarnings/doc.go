// Package podwarnings has the warnings about pods, pod templates, claims and persistent volumes that clients receive
// with the response to a write, and those about labels of nodes, which other kinds share. A warning has the wording of
// kube-apiserver.
package podwarnings
