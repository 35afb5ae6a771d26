// Package authorizer has the interface of authorizers: the attributes of a request, and
// the decision. It has nothing else, so that authorizers, filters and admission share it
// without importing each other.
//
// Every Authorizer is safe for concurrent use. The reason of a decision is for the
// log and, on refusal, for the client.
package authorizer
