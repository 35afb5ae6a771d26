// Package nodeauthorizer authorizes kubelets (KEP-279): a node reads the objects that its pods
// use, and writes those about itself.
//
// Authorizer follows pods, persistent volumes, volume attachments and resource
// slices (Handler feeds it from informers) and keeps for each object how many
// pods of each node use it, so that a decision is a few map lookups. It allows
// or has no opinion; it has none on users that are not nodes.
package nodeauthorizer
