// Command triplane is a Kubernetes API server in one binary. Under the name etcd, or with
// that as its first argument, it is an etcd; other first arguments are commands for
// operators (main.go lists them).
//
// main runs package triplane with the command line until the first signal, which shuts
// the server down gracefully; a second one ends the process at once.
package main
