// Package assets lays out the directory in which
// sigs.k8s.io/controller-runtime/pkg/envtest looks for its programs: kube-apiserver,
// etcd and kubectl. The first two are this program, which is an API server or an
// etcd by the name that it is called by.
package assets
