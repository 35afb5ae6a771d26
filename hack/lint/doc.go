// Command lint checks the source of the main module: with the analyzers of go vet and staticcheck, and
// those that checks.go lists.
//
// It loads each package once, and of those outside of the module only what they declare: no
// function body of theirs is read but those that tell which functions do not return (load.go). So a
// run on a machine with an empty build cache costs the analysis of this module, and building this
// program costs that of its analyzers.
//
// A line, or the declaration that begins on it, is excepted by a comment that names the checks and
// says why:
//
//	//nolint:errcheck // the error is that of Flush
package main
