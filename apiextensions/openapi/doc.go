// Package openapi writes what CustomResourceDefinitions add to the server's
// OpenAPI documents, when a client requests it: schemas from the JSON of storage to the
// JSON of the documents, without decoding them.
package openapi
