// Package registry turns the declaration of a kind into the storage that serves
// its verbs.
//
// Kind[T] is the declaration, Store the one implementation of the rest verbs
// over a storage.Backend (writes) and a storage.Cache (reads). A Store is told
// apart from every other only by its declaration, so a custom resource, a
// Deployment and a Lease take the same way.
package registry
