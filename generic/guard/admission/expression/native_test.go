package expression

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
)

// Integers beyond those of JSON objects are errors; they became negative.
func TestNativeIntegers(t *testing.T) {
	for of, want := range map[types.Uint]int64{0: 0, 1<<63 - 1: 1<<63 - 1} {
		if got, err := Native(of); err != nil || got != want {
			t.Errorf("%d is %v, %v", of, got, err)
		}
	}
	for _, of := range []types.Uint{1 << 63, 1<<64 - 1} {
		if got, err := Native(of); err == nil || !strings.Contains(err.Error(), "is larger than integers of objects") {
			t.Errorf("%d is %v, %v", of, got, err)
		}
	}
}
