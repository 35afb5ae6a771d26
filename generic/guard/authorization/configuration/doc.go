// Package configuration is the AuthorizationConfiguration of apiserver.config.k8s.io
// (KEP-3221): the authorizers, their order, and the settings of webhooks. Decode reads a
// file, strictly, and sets defaults; Compile validates it and compiles the match
// conditions of webhooks. The --authorization-* flags are converted to a Configuration,
// too, so that both are handled the same way.
package configuration
