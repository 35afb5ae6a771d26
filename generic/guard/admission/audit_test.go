package admission

import (
	"strings"
	"testing"
)

func TestAnnotationKeys(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A.b": true, "a_b": true, "1": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "a-": false, "a b": false, "x/y": false, "é": false, strings.Repeat("a", 64): false,
	} {
		if key, ok := annotationKey("w.example.com", name); ok != want || key != "w.example.com/"+name {
			t.Errorf("%q: %q, %v", name, key, ok)
		}
	}
}
