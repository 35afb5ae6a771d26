package wire

import (
	"reflect"
	"strconv"
	"strings"
)

// FieldNumber returns the number of a field of a Go struct in protobuf, 0 if it has none.
func FieldNumber(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 {
		return 0
	}
	return n
}
