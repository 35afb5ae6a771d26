package jsonpatch

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	library "gopkg.in/evanphx/json-patch.v4"
)

const doc = `{"a":{"b":[1,2,{"c":null}],"d":"x"},"e":1.0,"f":null}`

// Both implementations of patches have the same result.
func TestBothWaysAgree(t *testing.T) {
	for _, ops := range []string{
		`[{"op":"add","path":"/a/b/0","value":{"z":1}}]`, `[{"op":"add","path":"/a/b/-","value":null}]`,
		`[{"op":"add","path":"/a/b/-1","value":3}]`, `[{"op":"add","path":"/a/b/9","value":3}]`, `[{"op":"add","path":"","value":{}}]`,
		`[{"op":"replace","path":"/a/new","value":3}]`, `[{"op":"replace","path":"","value":[1]}]`, `[{"op":"replace","path":"","value":1}]`,
		`[{"op":"remove","path":"/a/b/1"},{"op":"remove","path":"/e"}]`, `[{"op":"remove","path":"/none"}]`, `[{"op":"remove","path":"/a/b/x"}]`,
		`[{"op":"move","from":"/a/b","path":"/g"},{"op":"copy","from":"/g/2","path":"/g/0"}]`, `[{"op":"move","from":"/a","path":"/a/b"}]`,
		`[{"op":"test","path":"/e","value":1.0}]`, `[{"op":"test","path":"/e","value":1}]`, `[{"op":"test","path":"/none"}]`,
		`[{"op":"test","path":"/a/b","value":[1,2,{"c":null}]}]`, `[{"op":"add","path":"/x~1y~0z","value":1}]`, `[{"op":"add","path":"/f/x","value":1}]`,
		`[{"op":"turn","path":"/a"}]`, `[{"path":"/a"}]`, `[{"op":"copy","from":"/a/b/7","path":"/x"}]`,
	} {
		p, err := Decode([]byte(ops))
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := p.byLibrary([]byte(doc))
		got, gotErr := p.byTree(t.Context(), []byte(doc))
		if (wantErr == nil) != (gotErr == nil) || errors.Is(wantErr, ErrTestFailed) != errors.Is(gotErr, ErrTestFailed) || wantErr == nil && !same(want, got) {
			t.Errorf("%s: %s, %v; the library: %s, %v", ops, got, gotErr, want, wantErr)
		}
	}
}

// Both implementations of merges have the same result.
func TestMergesAgree(t *testing.T) {
	for _, patch := range []string{
		`{"a":{"b":null,"n":{"x":null,"y":[null,{"z":null}]}}}`, `{"e":{"x":null}}`, `{"f":{"x":null,"y":1}}`, `{"a":[{"x":null}]}`, `{}`,
	} {
		want, err := library.MergePatch([]byte(doc), []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		before, _ := decode([]byte(doc))
		change, _ := decode([]byte(patch))
		got, err := json.Marshal(merge(before, change))
		if err != nil {
			t.Fatal(err)
		}
		if !same(want, got) {
			t.Errorf("%s: %s; the library: %s", patch, got, want)
		}
	}
}

// Patches that would take the library minutes are applied to decoded values, and end with their context.
func TestLongPatches(t *testing.T) {
	list := `{"l":[` + strings.Repeat("1,", 200000) + `1]}`
	p, err := Decode([]byte(`[{"op":"add","path":"/l/0","value":0}` + strings.Repeat(`,{"op":"add","path":"/l/0","value":0}`, 200) + `]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Apply(t.Context(), []byte(list)); err != nil || len(got) != len(list)+2*201 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Apply(ended, []byte(list)); !errors.Is(err, context.Canceled) {
		t.Errorf("a patch goes on: %v", err)
	}
	deep := strings.Repeat(`{"a":`, 900) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 900)
	if got, err := Merge(t.Context(), []byte(`{}`), []byte(deep)); err != nil || string(got) != deep {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := Merge(ended, []byte(`{}`), []byte(deep)); !errors.Is(err, context.Canceled) {
		t.Errorf("a merge goes on: %v", err)
	}
}

// Operations at the head of a list move all elements.
func TestMovesAreBounded(t *testing.T) {
	list := `{"l":[` + strings.Repeat("1,", 400_000) + `1]}`
	for name, op := range map[string]string{"add": `{"op":"add","path":"/l/0","value":0}`, "remove": `{"op":"remove","path":"/l/0"}`} {
		p, err := Decode([]byte("[" + strings.Repeat(op+",", 2000) + op + "]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Apply(t.Context(), []byte(list)); !errors.Is(err, errMoves) {
			t.Errorf("%s is not bounded: %v", name, err)
		}
	}
	p, err := Decode([]byte("[" + strings.Repeat(`{"op":"add","path":"/l/-","value":0},`, 9000) + `{"op":"remove","path":"/l/-1"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Apply(t.Context(), []byte(list)); err != nil || len(got) != len(list)+2*8999 {
		t.Errorf("additions at the end: %d bytes, %v", len(got), err)
	}
}

// Copies must not double a document indefinitely.
func TestCopiesAreBounded(t *testing.T) {
	p, err := Decode([]byte(`[{"op":"add","path":"/x","value":[1]}` + strings.Repeat(`,{"op":"copy","from":"/x","path":"/x/-"}`, 60) + `]`))
	if err != nil {
		t.Fatal(err)
	}
	var tooMuch *library.AccumulatedCopySizeError
	if _, err := p.Apply(t.Context(), []byte(`{}`)); !errors.As(err, &tooMuch) {
		t.Errorf("copies are not bounded: %v", err)
	}
}

// same reports whether two documents have the same values.
func same(a, b []byte) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
