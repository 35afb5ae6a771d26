// Package assets writes the directory in which sigs.k8s.io/controller-runtime/pkg/envtest looks for its programs:
// kube-apiserver, etcd and kubectl. The first two are this program, which selects its function by its name.
//
// The file kube-apiserver.flags in it has default flags of the server, one per line. Flags that a test sets replace
// them. So controllers run, which kube-apiserver of envtest does not have.
package assets
