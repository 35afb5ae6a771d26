// Package models holds the OpenAPI models of the built-in kinds, and makes those of others
// from their Go types.
//
// They are generated from the Go types of k8s.io/* (see hack/openapi) and kept
// compressed in the binary. Nothing is decoded before it is asked for, and then
// only what the asked-for models refer to.
package models
