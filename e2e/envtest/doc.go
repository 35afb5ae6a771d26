// Package envtest runs the test suites of sigs.k8s.io/controller-runtime, as they are in
// its Go module, against Triplane: envtest finds it as kube-apiserver and as etcd in the
// directory that triplane envtest-assets lays out.
//
// A plain test run takes two of the suites, -args -all (make envtest-suites) takes those
// of all packages that start an API server.
package envtest
