// Package configuration reads the AdmissionConfiguration of --admission-control-config-file
// (apiserver.config.k8s.io/v1): for each plugin its configuration, inline or in a file of its
// own. What a plugin's configuration says is for the plugin to decode; Decode is there
// for those that have an apiVersion and a kind.
//
// Documents are read once, when the server starts, and strictly: unknown and repeated
// fields are errors.
package configuration
