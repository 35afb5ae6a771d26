// Command triplane is a Kubernetes API server in one binary. Under the name etcd, or with that as its first
// argument, it is an etcd. Other first arguments are commands for operators (main.go lists them).
//
// main runs package triplane until the first termination signal, which shuts the server down gracefully. A second
// one exits at once.
package main
