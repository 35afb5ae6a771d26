// Command triplane is a Kubernetes API server in one binary. It is an etcd, too, under
// that name or as its first argument, and lays out the directory in which envtest finds
// both.
//
// main runs package app with the command line until the first signal, which shuts
// the server down gracefully; a second one ends the process at once.
package main
