// Package testserver starts a Kubernetes API server in a Go test, in the test's own process:
//
//	srv := testserver.Start(t)
//	client := kubernetes.NewForConfigOrDie(srv.Config())
//
// Start returns when the server is ready, and the test's end stops it. It is the whole server
// of package triplane: the built-in kinds, RBAC, admission,
// CustomResourceDefinitions and aggregation. Objects are kept in memory, unless WithEtcd asks
// for the embedded etcd. Servers do not know of each other, so that tests may run in parallel;
// tests that share one call Reset in between.
//
// Without WithControllers nothing acts on its own, as with envtest: deleted namespaces stay
// Terminating, dependents stay, and pods need no service account.
package testserver
