// Package adminclient sends requests to the paths of a server that are not part of the Kubernetes API,
// such as /etcd/snapshot. The commands of the binary and a server that joins a cluster use it.
package adminclient
