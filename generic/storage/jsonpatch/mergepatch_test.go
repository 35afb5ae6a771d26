package jsonpatch

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// FuzzSpliceMerge holds the short way of merge patches against the library's.
func FuzzSpliceMerge(f *testing.F) {
	doc := `{"kind":"K","metadata":{"name":"a","labels":{"x":"1","y":"2"},"empty":{}},"spec":{"list":[1,{"a":null}],"n":null,"s":"q\"}","t":true},"status":{}}`
	for _, patch := range []string{
		`{"metadata":{"labels":{"x":null,"z":"3"}}}`, `{"spec":null}`, `{"spec":{"list":[{"b":null}]}}`, `{"spec":{"n":{"a":null}}}`, `{}`, `[]`, `null`,
		`{"new":{"a":{"b":null}}}`, `{"kind":"L","kind":"M"}`, `{"k\u0069nd":"L"}`, ` { "spec" : { "t" : false , "u" : -1.5e3 } } `, `{"spec":"x"}`,
		`{"spec":[]}`, `{"status":{"a":[]}}`, `{"kind":{"a":1}}`, `{"metadata":{"empty":{"q":"null"}}}`, `{"spec":{"s":"\\"}}`, `{"":1}`,
	} {
		f.Add([]byte(doc), []byte(patch))
		f.Add([]byte(`{}`), []byte(patch))
	}
	f.Add([]byte(`{"a":{"b":1},"a":{"c":2}}`), []byte(`{"a":{"b":3}}`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if !json.Valid(doc) || !json.Valid(patch) {
			return
		}
		got, ok := SpliceMerge(doc, patch)
		if !ok {
			return
		}
		want, err := jsonpatch.MergePatch(doc, patch)
		if err != nil {
			t.Fatalf("the library fails: %v", err)
		}
		var g, w any
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatalf("%q on %q: %q: %v", patch, doc, got, err)
		}
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("%q on %q: %s, want %s", patch, doc, got, want)
		}
	})
}

func TestUsualPatchesAreSpliced(t *testing.T) {
	for patch, want := range map[string]string{
		`{"metadata":{"labels":{"tier":"2"}}}`: `{"kind":"K","metadata":{"name":"a","labels":{"tier":"2"}}}`,
		`{"metadata":{"labels":null}}`:         `{"kind":"K","metadata":{"name":"a"}}`,
		`{"data":{"a":"b"}}`:                   `{"kind":"K","metadata":{"name":"a","labels":{"tier":"1"}},"data":{"a":"b"}}`,
	} {
		got, ok := SpliceMerge([]byte(`{"kind":"K","metadata":{"name":"a","labels":{"tier":"1"}}}`), []byte(patch))
		if !ok || string(got) != want {
			t.Errorf("%s: %s (%t), want %s", patch, got, ok, want)
		}
	}
}

func BenchmarkMergePatch(b *testing.B) {
	doc := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"app":"x"},"annotations":{"k":"` + strings.Repeat("v", 300) + `"}},"data":{"k":"` + strings.Repeat("v", 300) + `","l":"m"}}`)
	patch := []byte(`{"data":{"l":"n"}}`)
	b.Run("spliced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := SpliceMerge(doc, patch); !ok {
				b.Fatal("not spliced")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := jsonpatch.MergePatch(doc, patch); err != nil {
				b.Fatal(err)
			}
		}
	})
}
