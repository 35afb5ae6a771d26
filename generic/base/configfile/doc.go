// Package configfile reads configuration files of the group apiserver.config.k8s.io, and reloads them while the
// server runs.
//
// Decoding is strict: unknown and duplicate fields are errors. A Reloader reloads a file when its content
// changes. If that fails, the previous configuration stays in effect; the failure is logged, counted and
// retried.
package configfile
