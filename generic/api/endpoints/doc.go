// Package endpoints joins rest.Storage with HTTP: APIGroupVersion.Install asks
// each storage of a group version which verbs it has, and registers a go-restful
// route for each.
//
// A verb is a row of the table in verbs.go: its method, the shape of its path,
// what the storage must implement, and the handler constructor of package
// handlers. Routes carry what OpenAPI shows of them: operation ids as
// kube-apiserver gives them, documentation, parameters, samples of bodies, action
// and kind.
//
// Servers that serve resources without routes, as those that come and go with a
// CustomResourceDefinition, ask APIGroupVersion.Resource for the handlers of one
// of them. Whatever differs between resources is in the interfaces of package
// rest that their storage implements.
package endpoints
