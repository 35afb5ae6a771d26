// Package cmp stands in for that of github.com/google/go-cmp in the programs of a release.
//
// etcd compares maps with it if ETCD_VERIFY is set, which tests do. The library calls reflect.Type.Method, and therefore
// the linker would keep every exported method of all types: a seventh of the program.
package cmp

import (
	"fmt"
	"reflect"
)

// Option is the library's type. No value has it here.
type Option interface{ unsupported() }

// Diff returns "" if x and y are equal, otherwise both.
func Diff(x, y any, _ ...Option) string {
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return fmt.Sprintf("- %v\n+ %v\n", x, y)
}
