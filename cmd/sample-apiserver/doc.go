// Command sample-apiserver is an API server built with package apiserver that behaves like
// k8s.io/sample-apiserver. Its API group wardle.example.com has flunders, in two versions, and fischers. Fischers
// disallow names of flunders with the admission plugin BanFlunder.
//
//	sample-apiserver --standalone                # alone, with kubectl --kubeconfig .sample-apiserver/admin.kubeconfig
//	sample-apiserver --etcd-servers=http://…     # in a pod, behind an APIService
package main
