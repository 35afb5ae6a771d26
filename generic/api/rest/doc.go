// Package rest is the contract between the endpoint handlers and what serves a resource. A Resource
// is a value: a description, and a function for each verb that it supports, for which the
// APIInstaller registers routes.
//
// Objects cross this boundary in the resource's hub version: the k8s.io/api type
// of the storage version for built-in kinds, *unstructured.Unstructured for
// custom resources. Reads may return Stored objects instead, which stay bytes
// until a caller decodes them. The context has the namespace
// (request.NamespaceFrom) and the user.
package rest
