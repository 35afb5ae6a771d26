// Package configuration decodes and validates AuthorizationConfiguration of apiserver.config.k8s.io (KEP-3221),
// which has the authorizers in their order, and the settings of webhooks.
//
// Decode decodes a file strictly and sets defaults. Compile validates a Configuration and compiles the match
// conditions of webhooks. The --authorization-* flags are converted to a Configuration as well.
package configuration
