// Package node declares the kind of the group node.k8s.io/v1, RuntimeClass, which
// names a handler of the nodes. The handler is fixed; overhead and scheduling reach
// pods through the admission plugin RuntimeClass.
package node
