package object

import (
	"bytes"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
)

func tree(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestEncodeChangeOfTrees(t *testing.T) {
	const held = `{"metadata":{"managedFields":[{"manager":"m","time":"2026-01-01T00:00:00Z"}],"name":"a"},"spec":{"n":1}}`
	tests := []struct {
		name, obj string
		same      bool
		prune     string
	}{
		{name: "the same", obj: held, same: true},
		{name: "another time", obj: `{"metadata":{"managedFields":[{"manager":"m","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{"n":1}}`, same: true},
		{name: "another manager", obj: `{"metadata":{"managedFields":[{"manager":"n","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{"n":1}}`},
		{name: "another value", obj: `{"metadata":{"managedFields":[{"manager":"m","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{"n":2}}`},
		{name: "another label", obj: `{"metadata":{"labels":{"a":"b"},"managedFields":[{"manager":"m","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{"n":1}}`},
		{name: "one field less", obj: `{"metadata":{"managedFields":[{"manager":"m","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{}}`},
		{name: "no managed fields", obj: `{"metadata":{"name":"a"},"spec":{"n":1}}`},
		{name: "what is pruned", obj: `{"metadata":{"managedFields":[{"manager":"m","time":"2026-01-02T00:00:00Z"}],"name":"a"},"spec":{"n":1},"x":1}`, prune: "x", same: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obj, old := tree(t, tt.obj), tree(t, held)
			value, same, err := trees{}.EncodeChange(obj, old, []byte(held), func() ([]byte, error) {
				delete(obj.Object, tt.prune)
				return json.Marshal(obj.Object)
			})
			if err != nil || same != tt.same {
				t.Fatalf("same is %v, %v", same, err)
			}
			if same != bytes.Equal(value, []byte(held)) {
				t.Errorf("the value is %s", value)
			}
			if again, err := json.Marshal(obj.Object); err != nil || !bytes.Equal(again, value) {
				t.Errorf("the object is %s, the value %s", again, value)
			}
		})
	}
}

func TestEqualTree(t *testing.T) {
	for _, tt := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true}, {int64(1), int64(2), false}, {"1", int64(1), false}, {nil, nil, true}, {nil, "", false},
		{[]any{"a"}, []any{"a"}, true}, {[]any{"a"}, []any{}, false}, {map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{"a", []any{}, false}, {true, true, true}, {map[string]any{}, "x", false}, {1.5, []any{}, false},
	} {
		if got := equalTree(tt.a, tt.b); got != tt.want {
			t.Errorf("%v and %v: %v", tt.a, tt.b, got)
		}
		if got := equalTree(tt.b, tt.a); got != tt.want {
			t.Errorf("%v and %v: %v", tt.b, tt.a, got)
		}
	}
}
