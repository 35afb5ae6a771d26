// Package openapi renders what CustomResourceDefinitions add to the server's
// OpenAPI documents, when somebody asks for it.
package openapi
