// Package clients drives the built server with programs that are made with client-go and
// controller-runtime.
package clients
