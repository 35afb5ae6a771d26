// Package library has the CEL functions that Kubernetes adds: lists, regular expressions, URLs, quantities, IP
// addresses, formats, semantic versions.
package library
