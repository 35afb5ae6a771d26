package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `1`: 0, `{}`: 1, `{"a":[[1],{}]}`: 3, `{"a[{":"]}\"["}`: 1, `[[`: 2, `"`: 0, `{"a":{}}{`: 2,
	} {
		if got := Depth([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for n, want := range map[int]error{MaxDepth: nil, MaxDepth + 1: ErrTooDeep} {
		if err := CheckDepth([]byte(strings.Repeat("[", n))); !errors.Is(err, want) {
			t.Errorf("%d levels: %v", n, err)
		}
	}
	if err := CheckDepth([]byte(strings.Repeat("[],", 2*MaxDepth))); err != nil {
		t.Errorf("lists beside each other: %v", err)
	}
}

// Messages of which half a million are within each other would end the process: the stack of their decoder overflows.
func TestProtobufDepth(t *testing.T) {
	nested := func(levels int) []byte {
		message := []byte{}
		for range levels - 1 {
			message = AppendBytes(nil, 1, message)
		}
		return append([]byte(protobufPrefix), message...)
	}
	for n, want := range map[int]error{1: nil, MaxDepth: nil, MaxDepth + 2: ErrTooDeep, 5 * MaxDepth: ErrTooDeep} {
		if err := CheckProtobufDepth(nested(n)); !errors.Is(err, want) {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}
