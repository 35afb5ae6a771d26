package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

func validatorOf(t *testing.T, text string) *Validator {
	t.Helper()
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	v, err := NewValidator(p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// randomSchema is a schema of all that a run does by itself, and of what it leaves to the library.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	kinds := []string{"string", "integer", "boolean", "object", "array", ""}
	kind := kinds[r.IntN(len(kinds))]
	if kind != "" {
		s["type"] = kind
	}
	switch r.IntN(4) {
	case 0:
		s["nullable"] = true
	case 1:
		s["enum"] = []any{"a", 1, nil}
	case 2:
		s["maximum"], s["maxLength"] = 1, 1
	}
	if depth == 0 {
		return s
	}
	if r.IntN(2) == 0 {
		s["properties"] = map[string]any{"a": randomSchema(r, depth-1)}
		s["required"] = []any{"b"}
	} else if kind == "object" {
		s["additionalProperties"] = randomSchema(r, depth-1)
	}
	if r.IntN(2) == 0 {
		s["items"], s["maxItems"] = randomSchema(r, depth-1), 1
	}
	for _, junction := range []string{"anyOf", "oneOf", "allOf"} {
		if r.IntN(3) == 0 {
			s[junction] = []any{randomSchema(r, depth-1), randomSchema(r, depth-1)}
		}
	}
	if r.IntN(4) == 0 {
		s["not"] = randomSchema(r, depth-1)
	}
	return s
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return "a"
	case n == 2:
		return "bcd"
	case n == 3:
		return int64(r.IntN(3))
	case n == 4 || depth == 0:
		return true
	case n == 5:
		return []any{randomValue(r, depth-1), randomValue(r, depth-1)}
	default:
		m := map[string]any{"a": randomValue(r, depth-1)}
		if n == 7 {
			m = map[string]any{"b": randomValue(r, depth-1)}
		}
		return m
	}
}

// A run reports what the library reports, in its words and its order.
func TestRunsValidateAsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 6_000 {
		text, err := json.Marshal(randomSchema(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		v := validatorOf(t, string(text))
		value := randomValue(r, 4)
		want := validate.NewSchemaValidator(v.schema, nil, "", strfmt.Default).Validate(value)
		n := &runNode{run: &run{ctx: t.Context(), formats: strfmt.Default}, schema: v.schema}
		got := n.Validate(value)
		if fmt.Sprint(got.Errors) != fmt.Sprint(want.Errors) || got.MatchCount != want.MatchCount {
			t.Fatalf("%s of %v:\n%v, %d, want\n%v, %d", text, value, got.Errors, got.MatchCount, want.Errors, want.MatchCount)
		}
		if !want.IsValid() {
			failed++
		}
	}
	if failed < 500 {
		t.Errorf("only %d values are invalid", failed)
	}
}

func list(n int, item func(i int) any) map[string]any {
	items := make([]any, n)
	for i := range items {
		items[i] = item(i)
	}
	return map[string]any{"items": items}
}

// Errors of several properties are in the order of their fields, each time.
func TestOrderOfErrors(t *testing.T) {
	v := validatorOf(t, `{"type":"object",
		"properties":{"c":{"type":"string"},"a":{"type":"string"},"b":{"type":"string"}}}`)
	for range 50 {
		var fields []string
		for _, e := range v.Validate(t.Context(), nil, map[string]any{"b": int64(1), "c": int64(1), "a": int64(1)}) {
			fields = append(fields, e.Field)
		}
		if got := strings.Join(fields, " "); got != "a b c" {
			t.Fatalf("the order is %s", got)
		}
	}
}

// An object of 100,000 invalid values has as many errors as an answer shows; the library would
// compare each with all others.
func TestManyErrorsAreBounded(t *testing.T) {
	value := list(100_000, func(i int) any { return int64(i) })
	for _, schema := range []string{
		`{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}}}`,
		`{"type":"object","properties":{"items":{"type":"array","items":{"type":"integer","maximum":-1,"minimum":-1}}}}`,
		`{"type":"object","allOf":[{"properties":{"items":{"items":{"maximum":-1}}}}]}`,
		`{"type":"object","not":{"properties":{"items":{"items":{"maximum":-1}}}},"anyOf":[{"properties":{"items":{"items":{"maximum":-1}}}}]}`,
	} {
		v := validatorOf(t, schema)
		errs := v.Validate(t.Context(), nil, value)
		if len(errs) < maxErrors || len(errs) > maxErrors+2 {
			t.Errorf("%s: %d errors", schema, len(errs))
		}
		s, err := New(&apiextensionsv1.JSONSchemaProps{Type: "object"})
		if err != nil {
			t.Fatal(err)
		}
		if errs := v.ValidateUpdate(t.Context(), nil, s, value, func() any { return map[string]any{} }); len(errs) < maxErrors {
			t.Errorf("%s: an update has %d errors", schema, len(errs))
		}
	}
}

// Validation ends with its context, in all parts of a schema.
func TestValidationEndsWithItsContext(t *testing.T) {
	value := list(200_000, func(int) any { return map[string]any{} })
	for _, schema := range []string{
		`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}}}}`,
		`{"type":"object","anyOf":[{"properties":{"items":{"items":{"maxProperties":1}}}}]}`,
		`{"type":"object","not":{"allOf":[{"oneOf":[{"properties":{"items":{"items":{"maxProperties":1}}}}]}]}}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		errs := validatorOf(t, schema).Validate(ctx, nil, value)
		cancel()
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), context.DeadlineExceeded.Error()) {
			t.Errorf("%s: %.300v", schema, errs)
		}
	}
}

func byText(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) }

// TestLongTexts expects the library's errors for texts whose patterns are matched interruptibly, and that matching
// ends with its context. The last pattern takes minutes.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, schema := range []string{
		`{"type":"string","pattern":"^x+$"}`, `{"type":"string","pattern":"y"}`, `{"pattern":"^[a-z]+y$"}`,
		`{"type":"string","maxLength":10,"pattern":"y"}`, `{"type":"string","minLength":1000000,"pattern":"y"}`,
		`{"type":"integer","pattern":"y"}`, `{"type":"string","pattern":"y","enum":["a"]}`,
		`{"type":"string","anyOf":[{"pattern":"y"},{"pattern":"x$"}],"not":{"pattern":"z"}}`,
	} {
		v := validatorOf(t, schema)
		got, want := v.Validate(t.Context(), nil, long), fieldErrors(nil, v.openapi.Validate(long))
		slices.SortFunc(got, byText)
		slices.SortFunc(want, byText)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %.300v, want %.300v", schema, got, want)
		}
	}
	v := validatorOf(t, `{"properties":{"a":{"pattern":"`+strings.Repeat("(x?){500}", 20)+`$y"}}}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	errs := v.Validate(ctx, nil, map[string]any{"a": long})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("%.300v", errs)
	}
}

// Defaults of an object are bounded: each {} of a body can stand for many.
func TestDefaultsAreBounded(t *testing.T) {
	p := &apiextensionsv1.JSONSchemaProps{}
	const text = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"%s"}}}}}}`
	if err := json.Unmarshal(fmt.Appendf(nil, text, strings.Repeat("x", 1<<20)), p); err != nil {
		t.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	value := list(1000, func(int) any { return map[string]any{} })
	Default(value, s)
	filled := 0
	for _, item := range value["items"].([]any) {
		filled += len(item.(map[string]any))
	}
	if filled < 4 || filled > 8 {
		t.Errorf("%d MiB of defaults", filled)
	}
	var few any
	if err := utiljson.Unmarshal([]byte(`{"items":[{},{"a":"b"}]}`), &few); err != nil {
		t.Fatal(err)
	}
	Default(few, s)
	want := list(2, func(i int) any { return map[string]any{"a": []string{strings.Repeat("x", 1<<20), "b"}[i]} })
	if !reflect.DeepEqual(few, any(want)) {
		t.Error("few defaults are not filled in")
	}
}
