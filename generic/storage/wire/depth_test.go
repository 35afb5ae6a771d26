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

func TestPaths(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `{}`: 0, `{"a":1}`: 3, `{"a" : {"b":1,"c":","}}`: 3 + 6 + 6, `[1,1]`: 8, `{"a":[{"b":1},{}],"c":2}`: 3 + 7 + 10 + 7 + 3,
	} {
		if got := scan([]byte(text)).paths; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	long := strings.Repeat("a", 1<<20)
	for text, want := range map[string]error{
		`{"` + long + `":{` + strings.Repeat(`"b":1,`, 100) + `"c":1}}`:       ErrLongPaths,
		`{"` + long + `"  :[` + strings.Repeat(`1,`, 100) + `1]}`:             ErrLongPaths,
		`{"a":"` + long + `","b":[` + strings.Repeat(`1,`, 100_000) + `1]}`:   nil,
		`{"` + long + `":1,"b":{` + strings.Repeat(`"b":1,`, 100) + `"c":1}}`: nil,
	} {
		if err := CheckDepth([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.20s: %v, want %v", text, err, want)
		}
	}
}

// Half a million nested messages would overflow the stack of their decoder, which ends the process.
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
