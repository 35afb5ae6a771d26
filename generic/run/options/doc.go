// Package options turns command-line flags into the configuration of a server. Flags have the names and meanings
// of kube-apiserver's.
//
// Each concern has one type. Its constructor sets the defaults, and AddFlags binds its flags. Validate returns an
// error for each invalid flag, so that all are reported at once. ApplyTo, or a constructor such as Build, uses the
// values. No file is read before that.
package options
