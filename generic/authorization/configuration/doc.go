// Package configuration is the AuthorizationConfiguration of apiserver.config.k8s.io
// (KEP-3221): which authorizers are asked, in which order, and how webhooks are.
// Decode reads a file, strictly, and fills in what it leaves open; Compile
// validates it and compiles the match conditions of webhooks. The --authorization-*
// flags are turned into a Configuration, too, so that there is one road.
package configuration
