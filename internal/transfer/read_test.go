package transfer

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Integers of YAML and JSON documents have 64 bits.
func TestReadPreservesIntegers(t *testing.T) {
	const documents = `apiVersion: example.com/v1
kind: Widget
metadata: {name: yaml}
spec: {above: 9007199254740993, most: 9223372036854775807, least: -9223372036854775807, part: 0.5}
---
# nothing but a comment
---
{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "json"},
 "spec": {"above": 9007199254740993, "most": 9223372036854775807, "least": -9223372036854775807, "part": 0.5}}
`
	want := map[string]any{"above": int64(9007199254740993), "most": int64(9223372036854775807), "least": int64(-9223372036854775807), "part": 0.5}
	for name, text := range map[string]string{"yaml": documents, "json": documents[strings.Index(documents, "{\"api"):]} {
		objects, err := read(strings.NewReader(text), "test")
		if err != nil {
			t.Fatal(err)
		}
		if name == "yaml" && len(objects) != 2 {
			t.Errorf("%d objects are read, want 2", len(objects))
		}
		for _, o := range objects {
			if spec, _, _ := unstructured.NestedMap(o.Object, "spec"); !maps.Equal(spec, want) {
				t.Errorf("%s: spec is %v, want %v", o.GetName(), spec, want)
			}
		}
	}
}
