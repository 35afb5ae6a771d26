// Package apiserver is how one writes an API server of one's own: an extension API server, which serves
// API groups behind an APIService of a cluster, or one that stands alone. It is made of the same
// parts as Triplane itself.
//
//	func main() {
//		apiserver.Main(apiserver.Server{
//			Name: "forester",
//			Groups: []apiserver.Group{{
//				Name: "forest.example.com", Versions: []string{"v1"},
//				Resources: []apiserver.Resource{apiserver.NewResource(trees())},
//			}},
//		})
//	}
//
// # Kinds
//
// A kind is a Go struct with TypeMeta, ObjectMeta and json tags, and a Kind, which declares the rest in
// one place: names, defaults, validation, what a write may change, columns of kubectl's table, fields of
// selectors, status, scale, further subresources. All of its functions take the Go type. What is left
// out is what most kinds have. DeepCopy and List stand for what is generated elsewhere; OpenAPI, and
// with it kubectl explain and server-side apply, follows from the Go types and their tags (package
// generic/api/openapi/models, Describe).
//
// A kind has one hub, the Go type that the functions take, and any number of other Versions with their Go
// types and a pair of conversions. One of them is stored. The hub may be a version that is served, or
// one that is not.
//
// # Options
//
// NewOptions are the recommended ones, with the flags and defaults of servers that are made with
// k8s.io/apiserver: serving, etcd (embedded where no --etcd-servers are given), authentication and
// authorization by the core API server, audit, priority and fairness, admission with that server's
// webhooks and policies, tracing. Without kubeconfigs the service account of the pod is used, which needs
// the ClusterRole system:auth-delegator, the Role extension-apiserver-authentication-reader in
// kube-system, and to list and watch namespaces, the kinds of admissionregistration.k8s.io, and
// flowschemas and prioritylevelconfigurations. With Standalone there is no core API server.
//
// # What is the server's own
//
// Server.Install adds post-start hooks, go-restful services and other paths. Server.Plugins are admission
// plugins; they get clients and informers of the core API server, and of the server itself (Informer).
// NewStorage serves a resource that is not stored, from a value with a function for each verb (package
// generic/api/rest, Resource). Server.Flags adds flags.
//
// # Running
//
// Main is a whole program. Start runs a server in a program or a test, and returns when it is ready;
// several run side by side. A mistake in a declaration is an error of both.
package apiserver
