// Package authorizer is the question that every request is asked after
// authentication, and its answers. It holds the interface alone, so that
// authorizers, filters and admission share it without importing each other.
//
// Every Authorizer is safe for concurrent use. The reason of a decision is for the
// log and, on refusal, for the client.
package authorizer
