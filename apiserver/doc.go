// Package apiserver builds API servers: extension API servers, which serve API groups behind an APIService of a
// cluster, and standalone servers. They consist of the same components as Triplane itself.
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
// A kind is a Go struct with TypeMeta, ObjectMeta and JSON tags, and a Kind, which declares in one place:
//
//   - names, scope and kubectl's table
//   - defaults, validation, and what create and update may change
//   - fields of selectors, and the subresources status, scale and others
//
// All functions take the Go type. Unset fields have the defaults of most kinds. DeepCopy and List replace
// generated code. OpenAPI, and with it kubectl explain and server-side apply, is derived from the Go types and
// their tags (package generic/api/openapi/models, Describe).
//
// A kind has one hub, the Go type that the functions take. It can have further Versions with separate Go types and
// conversions from and to the hub. One version is the storage version. The hub may be a served version or not.
//
// # Options
//
// NewOptions returns recommended options with the flags and defaults of servers that use k8s.io/apiserver:
// serving, etcd (embedded without --etcd-servers), authentication and authorization by the core API server, audit,
// priority and fairness, admission with that server's webhooks and policies, and tracing.
//
// Without kubeconfigs the pod's service account is used. It needs the ClusterRole system:auth-delegator, the Role
// extension-apiserver-authentication-reader in kube-system, and list and watch on namespaces, the kinds of
// admissionregistration.k8s.io, flowschemas and prioritylevelconfigurations. With Standalone there is no core API
// server.
//
// # Extensions
//
// Server.Install adds post-start hooks, go-restful services and other paths. Server.Plugins are admission plugins;
// they get clients and informers of the core API server and of the server itself (Informer). NewStorage serves a
// resource that is not stored, from a rest.Resource with a function for each verb. Server.Flags adds flags.
//
// # Running
//
// Main is a complete program. Start runs a server in a program or a test, and returns when it is ready. Several
// servers can run in one process. Both return an error for an invalid declaration.
package apiserver
