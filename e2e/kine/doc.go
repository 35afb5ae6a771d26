// Package kine tests the built server on kine with SQLite. It is no part of make test but of make
// test-others, since kine's SQLite takes minutes to compile.
package kine
