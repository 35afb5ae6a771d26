// Command sample-apiserver is an API server of one's own on package apiserver, and behaves as
// k8s.io/sample-apiserver does: the API group wardle.example.com has flunders, in two versions, and
// fischers, which say through the admission plugin BanFlunder what flunders may not be called.
//
//	sample-apiserver --standalone                # alone, with kubectl --kubeconfig .sample-apiserver/admin.kubeconfig
//	sample-apiserver --etcd-servers=http://…     # in a pod, behind an APIService
package main
