// Package harness builds and runs the real programs of the end-to-end tests: the
// server, kubectl, etcd, and an external API server.
//
// Programs are built once in a process of tests. A Process ends with its test at
// the latest, and what it wrote is shown where the test fails.
package harness
