package merged

import "testing"

// The annotation replaces a stored one, members stay in the order of their names, and nothing else changes.
func TestAnnotateText(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{"metadata":{"name":"x"},"n":9007199254740993}`, `{"metadata":{"annotations":{"from":"w"},"name":"x"},"n":9007199254740993}`},
		{`{"a":1, "metadata": {"annotations":null,"name":"<x>"}}`, `{"a":1,"metadata":{"annotations":{"from":"w"},"name":"<x>"}}`},
		{`{"metadata":{"annotations":{"a":"b","from":"forged","z":"}"}}}`, `{"metadata":{"annotations":{"a":"b","from":"w","z":"}"}}}`},
		{`{"metadata":{"annotations":{"a":"b"},"from":"x"}}`, `{"metadata":{"annotations":{"a":"b","from":"w"},"from":"x"}}`},
		{`{"metadata":{"from":"x"}}`, `{"metadata":{"annotations":{"from":"w"},"from":"x"}}`},
	} {
		if got := string(annotateText([]byte(c.object), "from", "w")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.object, got, c.want)
		}
	}
}
