// Package options turns command-line flags into the configuration of a server.
// Flags have the names and meanings of kube-apiserver's.
//
// There is one type for each concern. Its constructor sets the defaults, AddFlags
// binds its flags, Validate returns what is wrong with the values (one error for
// each flag, so that all are reported at once), and ApplyTo, or a constructor of what
// the options describe, uses them. No file is read before that.
package options
