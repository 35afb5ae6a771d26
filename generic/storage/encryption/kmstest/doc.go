// Package kmstest has KMS plugins for tests, which serve the API on a socket. They do not encrypt securely.
package kmstest
