// Package node declares the kind of the group node.k8s.io/v1, RuntimeClass.
package node
