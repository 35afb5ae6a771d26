// Package endpoints joins rest.Resource with HTTP: APIGroupVersion.Install registers a go-restful
// route for each verb that a resource of the group version has.
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
