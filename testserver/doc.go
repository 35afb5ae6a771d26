// Package testserver starts a Kubernetes API server in the process of a Go test:
//
//	srv := testserver.Start(t)
//	client := kubernetes.NewForConfigOrDie(srv.Config())
//
// Start returns when the server is ready; it is stopped at the end of the test. It is the complete server of
// package triplane with built-in kinds, RBAC, admission, CustomResourceDefinitions and aggregation. Objects are
// stored in memory, or in the embedded etcd with WithEtcd. Servers are independent, so tests may run in parallel.
// Tests that share a server call Reset in between.
//
// Without WithControllers no controllers run, as with kube-apiserver in envtest: deleted namespaces stay Terminating,
// dependents are not deleted, and pods need no service account.
package testserver
