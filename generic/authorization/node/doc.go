// Package node decides what kubelets may do: a node reads what the pods on it
// use, and writes what is about itself.
//
// Authorizer follows pods, persistent volumes, volume attachments and resource
// slices (Handler feeds it from informers) and keeps for each object how many
// pods of each node use it, so that a decision is a few map lookups. It allows
// or has no opinion; users other than nodes are none of its business.
package node
