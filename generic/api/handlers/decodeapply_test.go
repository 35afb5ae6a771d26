package handlers

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzPlainJSON holds bodies read as plain JSON against the same read as YAML.
func FuzzPlainJSON(f *testing.F) {
	for _, s := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"a\nb\t\"q\" \\ "}}`,
		`{"a":[1,-2,0,123456789012345678,true,false,null,{}, []],"b": {"c":""}}`,
		`{"a":1.0}`, `{"a":1e3}`, `{"a":-0}`, `{"a":1,"a":2}`, `{"<<":{"b":1}}`, `{"a":"\u00e9"}`, `{"a":"\/"}`, "{\"a\":\t1}",
		`{"a":12345678901234567890}`, `{"y":"yes","n":"no","~":"~","a b":"- x","#":"# c", "d":"2001-01-01"}`,
		`{"` + strings.Repeat("k", 1100) + `":1}`, `{"a":"` + strings.Repeat("v", 1100) + `"}`, "{\n  \"a\": [\n    1\n  ]\n}\n",
		`{"a":"é"}`, `{"a":nul}`, `{} x`, `{"a":1}}`, `{"":""}`, `{"a":"%"}`, `{"a":"'"}`, `{"a" : 1}`, `{ }`, "{\"a\"\n:1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := decodeApplyJSON(body)
		if !ok {
			return
		}
		want, err := decodeApply(body)
		if err != nil {
			t.Fatalf("%q: YAML says %v", body, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: read as %v, as YAML %v", body, got, want)
		}
		if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
			t.Fatalf("%q: strict YAML says %v", body, err)
		}
	})
}

func TestPlainJSONIsUsual(t *testing.T) {
	for body, want := range map[string]bool{
		`{"apiVersion":"v1","spec":{"replicas":3,"x":"a\nb"}}`: true,
		"{\n  \"a\": [\n    1\n  ]\n}\n":                       true,
		`{"a":0.5}`:                                            false,
		`{"a":1,"a":2}`:                                        false,
		`{"a":"é"}`:                                            false,
		`{"<<":{}}`:                                            false,
		`a: b`:                                                 false,
		``:                                                     false,
	} {
		if _, ok := decodeApplyJSON([]byte(body)); ok != want {
			t.Errorf("%q: plain %t, want %t", body, ok, want)
		}
	}
}

func BenchmarkDecodeApply(b *testing.B) {
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"x"}},"data":{"k":"` + strings.Repeat("v", 300) + `"}}`)
	b.Run("JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := decodeApplyJSON(body); !ok {
				b.Fatal("not plain")
			}
		}
	})
	b.Run("YAML", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeApply(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
