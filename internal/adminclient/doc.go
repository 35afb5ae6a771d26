// Package adminclient sends requests to paths of a server that are not part of the Kubernetes API, for example
// /etcd/snapshot. The binary's commands and servers that join a cluster use it.
package adminclient
