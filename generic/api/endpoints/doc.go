// Package endpoints joins rest.Resource with HTTP: the Service of an APIGroupVersion has a route for each verb of its
// resources. The routes of a resource are made when a request or a document needs them.
//
// A verb is a row of the table in verbs.go: its method, the shape of its path,
// what the resource must have, and the handler constructor of package
// handlers. Routes carry what OpenAPI shows of them: operation ids as
// kube-apiserver gives them, documentation, parameters, samples of bodies, action
// and kind.
//
// Servers that serve resources without routes, as those that come and go with a
// CustomResourceDefinition, ask APIGroupVersion.Resource for the handlers of one
// of them. Whatever differs between resources is in their rest.Resource.
package endpoints
