// Package assets writes the directory in which sigs.k8s.io/controller-runtime/pkg/envtest looks for its programs:
// kube-apiserver, etcd and kubectl. The first two are this program, which selects its function by its name.
package assets
