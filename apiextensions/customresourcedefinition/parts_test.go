package customresourcedefinition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestPartsAreEdited(t *testing.T) {
	p := parts{"a": {"b": {"c": nil}, "d": nil}}
	for text, want := range map[string]string{
		`{}`:                               `{}`,
		`{"x":[{"a":1}],"y":"}","a":null}`: `{"x":[{"a":1}],"y":"}","a":null}`,
		` { "a" : { "b" : { "c" : [1,{"c":2}] , "e":3 } , "d" : "drop" } , "z":1 } `: `
			{"a":{"b":{"c":"11","e":3}},"z":1}`,
		`{"a":[{"b":[{"c":1},{"c":"]"}]},{},{"b":[]},"text",[{"d":"drop","e":[2]}]]}`: `
			{"a":[{"b":[{"c":"1"},{"c":"3"}]},{},{"b":[]},"text",[{"e":[2]}]]}`,
		`[{"a":{"d":"drop"}},1]`:   `[{"a":{}},1]`,
		`{"a":{"d":"drop","x":2}}`: `{"a":{"x":2}}`,
		`7`:                        `7`,
	} {
		got := p.edit(nil, []byte(text), func(part []byte) ([]byte, bool) {
			return fmt.Appendf(nil, `"%d"`, len(part)), string(part) != `"drop"`
		})
		if string(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	one := func([]byte) ([]byte, bool) { return []byte("1"), true }
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":{"b"`, `{"a":[`, `{"a":[}`, `[{]`, `{"a":[1}`,
		`{"a":{"d":`} {
		if got := p.edit(nil, []byte(text), one); json.Valid(got) {
			t.Errorf("%s became valid: %s", text, got)
		}
	}
}
