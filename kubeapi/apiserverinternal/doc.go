// Package apiserverinternal declares the kind of internal.apiserver.k8s.io/v1alpha1,
// StorageVersion: in which version each API server writes a resource, and which
// versions it reads.
package apiserverinternal
