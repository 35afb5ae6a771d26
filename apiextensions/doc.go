// Package apiextensions is the CustomResourceDefinition server: it stores
// CRDs, names and establishes them (package controllers), and answers the
// requests for the resources that they define.
//
// A custom resource takes the same way as a built-in kind: its handlers are
// those of generic/api/endpoints, its storage is a registry.Store over
// *unstructured.Unstructured. What differs comes from its CRD: a Codec that
// prunes, coerces and converts, defaults and validation from the structural
// schema (package schema), columns, subresources.
//
// Which CRDs there are is in one catalogue: a copy-on-write tree that follows one
// watch of storage. The handler of requests, the publisher of discovery and
// OpenAPI, and the controller read it, and are called after each change.
//
// Nothing is made for a custom resource before it is asked for: a CRD costs one
// entry of the catalogue. Storage and handlers are made on the first request, each
// version's handlers on its own first one; a version's schema is decoded for the first
// object, and its rules are compiled when there are values of them. All are dropped when nobody
// asks any more. When the CRD changes they stay until the requests that
// began before are done; those that come meanwhile wait for the next ones.
package apiextensions
