// Package apiextensions is the CustomResourceDefinition server: it stores
// CRDs, names and establishes them (package controllers), and answers the
// requests for the resources that they define.
//
// A custom resource takes the same way as a built-in kind: its handlers are
// those of generic/endpoints, its storage is a registry.Store over
// *unstructured.Unstructured. What differs comes from its CRD: a Codec that
// prunes, coerces and converts, defaults and validation from the structural
// schema (package schema), columns, subresources.
//
// Nothing is made for a custom resource before it is asked for: a CRD costs one
// entry in a copy-on-write map. Schema, codecs, storage and handlers are made on
// the first request and dropped when the CRD changes or nobody asks any more.
package apiextensions
