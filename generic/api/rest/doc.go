// Package rest is the contract between the endpoint handlers and what answers
// them. A resource is a value that implements Storage and, of the verbs'
// interfaces below, those that it supports: the APIInstaller asks for each and
// registers a route for those it finds.
//
// Objects cross this boundary in the resource's hub version: the k8s.io/api type
// of the storage version for built-in kinds, *unstructured.Unstructured for
// custom resources. Reads may hand out Stored objects instead, which stay bytes
// until somebody decodes them. The namespace travels in the context
// (request.NamespaceFrom), as does the user.
package rest
