// Package rest is the contract between the endpoint handlers and what serves a resource. A Resource
// is a value: a description, and a function for each verb that it supports, for which the
// APIInstaller registers routes.
//
// Objects cross this boundary in the resource's hub version: the k8s.io/api type
// of the storage version for built-in kinds, *unstructured.Unstructured for
// custom resources. Reads may hand out Stored objects instead, which stay bytes
// until somebody decodes them. The namespace travels in the context
// (request.NamespaceFrom), as does the user.
package rest
