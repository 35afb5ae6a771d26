// Package externaltest is an external signer of service account tokens for tests, over a
// socket.
package externaltest
