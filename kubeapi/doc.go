// Package kubeapi is the core server: every built-in API group, one folder each,
// one file a kind.
//
// Config.Complete().New(delegate) builds the server; groups.go lists its groups.
// What the server creates for itself is in bootstrap, admission plugins that
// know built-in kinds are in admission.
package kubeapi
