// Package options turns command-line flags into the configuration of a server.
// The flags are named, and mean, what kube-apiserver's do; a flag is here when
// what it is about is here.
//
// There is one type for each concern. Its constructor sets the defaults, AddFlags
// binds its flags, Validate says what is wrong with the values (one error for
// each flag, so that all are reported at once), and ApplyTo, or a constructor of what
// the options describe, uses them. Nothing is read from disk before that.
package options
