// Package kmstest is a KMS v2 plugin for tests: it serves the API over a socket, and
// keeps no secret.
package kmstest
