// Package envtest runs the test suites of sigs.k8s.io/controller-runtime, as they are in
// its Go module, against Triplane: envtest finds it as kube-apiserver and as etcd in the
// directory that triplane envtest-assets lays out.
//
// A plain test run takes the suite of package envtest, of the release that e2e/tools/go.mod requires: its
// libraries are the server's. -args -newest (make test-others) takes it and that of the client from the newest release,
// which compiles another release of Kubernetes' libraries, -args -all (make envtest-suites) those of
// all packages that start an API server.
package envtest
