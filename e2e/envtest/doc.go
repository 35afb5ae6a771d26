// Package envtest runs the test suites of sigs.k8s.io/controller-runtime and of controllers, as they are in
// their Go modules, against Triplane: envtest finds it as kube-apiserver and as etcd in the
// directory that triplane envtest-assets lays out.
//
// -args -newest (make test-others) runs the suites of envtest and of controller-runtime's client from the newest
// release, with the libraries that it requires, -args -all (make envtest-suites) those of all packages that start an API
// server. Without either, only the tests of this package run.
package envtest
