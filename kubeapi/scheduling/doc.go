// Package scheduling declares the kind of the group scheduling.k8s.io/v1,
// PriorityClass.
package scheduling
