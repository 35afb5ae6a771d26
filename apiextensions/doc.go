// Package apiextensions is the CustomResourceDefinition server: it stores
// CRDs, names and establishes them (package controllers), and answers the
// requests for the resources that they define.
//
// Which CRDs there are is in one catalogue: a copy-on-write tree that follows one
// watch of storage. The handler of requests, the publisher of discovery and
// OpenAPI, and the controller read it, and are called after each change. How CRDs are
// stored is in package customresourcedefinition, and what one defines in package customresource:
// a custom resource takes the same way as a built-in kind, its handlers are those of
// generic/api/endpoints, its storage is a registry.Store.
//
// A storage may have the objects of several servers (workspaces). Then union enters one definition into the catalogue
// for the CRDs of a name.
//
// Nothing is made for a custom resource before it is requested: a CRD costs one entry of the
// catalogue. Storage and handlers are made on the first request, each version's handlers on its own
// first one. All are dropped when no request needs them any more. When the CRD changes they stay
// until the requests that began before are done; later requests wait for the next ones.
package apiextensions
