// Package e2e tests the built binary with real clients: kubectl of k8s.io/kubectl,
// client-go, etcd in a process of its own, and the external API server of
// k8s.io/sample-apiserver. Package harness builds and runs them; the module in
// tools names their versions.
package e2e
