// Package authorizer has the interface of authorizers: the attributes of a request, and the decision.
// Authorizers, filters and admission import it without importing each other.
//
// Every Authorizer must be safe for concurrent use.
package authorizer
