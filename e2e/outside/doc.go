// Package outside tests the README's ways to get the binary and the module, and the pages for users of the Go packages,
// as those do: in a directory outside of the repository.
package outside
