// Package outside tests the pages for users of the Go packages as those use them: in a module outside of the
// repository.
package outside
