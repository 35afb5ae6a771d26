// Package configuration reads the AdmissionConfiguration of --admission-control-config-file
// (apiserver.config.k8s.io/v1), which has a configuration for each plugin, inline or in a separate file. Each
// plugin decodes its own configuration: with Decode if that has an apiVersion and a kind, with
// DecodeUnversioned otherwise.
//
// Documents are read once, when the server starts. Decoding is strict: unknown and duplicate fields are errors.
package configuration
