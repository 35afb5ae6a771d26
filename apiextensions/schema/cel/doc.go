// Package cel judges custom resources by the CEL rules of their schema,
// x-kubernetes-validations.
package cel
