package cel

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/request"
)

// ruled is a schema of an object with one field f, of which a rule holds.
func ruled(t testing.TB, typ, rule string) *schema.Schema {
	t.Helper()
	text, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	p := &apiextensionsv1.JSONSchemaProps{}
	err = json.Unmarshal([]byte(`{"type":"object","properties":{"f":{`+typ+`,"x-kubernetes-validations":[{"rule":`+string(text)+`}]}}}`), p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRulesWaitForValues compiles the rules of a schema once, when there is a value of it, and needs nothing then
// of what the schema was made from.
func TestRulesWaitForValues(t *testing.T) {
	s := ruled(t, `"type":"string","maxLength":5,"format":"date"`, "self > timestamp('2024-01-01T00:00:00Z')")
	s.DropProps()
	registry := metrics.New()
	v := NewValidator(s, NewMetrics(registry))
	for _, c := range []struct {
		value            map[string]any
		errors, compiled int
	}{
		{map[string]any{}, 0, 0}, {map[string]any{"f": "2025-01-01"}, 0, 1}, {map[string]any{"f": "2023-01-01"}, 1, 1},
	} {
		if errs := v.Validate(t.Context(), nil, c.value, nil); len(errs) != c.errors {
			t.Errorf("%v: %v", c.value, errs)
		}
		if n := compilations(t, registry); n != c.compiled {
			t.Errorf("%v: %d compilations, want %d", c.value, n, c.compiled)
		}
	}
}

func compilations(t *testing.T, r *metrics.Registry) int {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "apiserver_cel_compilation_duration_seconds" })
	return int(families[i].GetMetric()[0].GetHistogram().GetSampleCount())
}

// everywhere has all rules compiled.
func everywhere(*field.Path) bool { return false }

func TestRules(t *testing.T) {
	const text = `"type":"string","maxLength":50`
	for _, c := range []struct{ typ, rule, good, bad string }{
		{`"type":"integer"`, "self > 3", `4`, `3`},
		{`"type":"number"`, "self < 1.5", `1`, `2`},
		{text, "self.matches('^[a-z]+$')", `"a"`, `"A"`},
		{`"type":"string","format":"duration"`, "self < duration('1h')", `"1m"`, `"2h"`},
		{`"type":"string","format":"date-time"`, "self > timestamp('2024-01-01T00:00:00Z')", `"2025-01-01T00:00:00Z"`, `"2023-01-01T00:00:00Z"`},
		{`"type":"array","maxItems":5,"items":{"type":"integer"}`, "self.sum() == 6 && self.isSorted()", `[1,5]`, `[5,1]`},
		{`"type":"array","maxItems":5,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":5}`, "self == ['a', 'b']", `["b","a"]`, `["a"]`},
		{`"type":"object","properties":{"a-b":{"type":"string"},"if":{"type":"string"}}`, "has(self.a__dash__b) && self.__if__ == 'x'", `{"a-b":"y","if":"x"}`, `{"if":"x"}`},
		{`"type":"object","maxProperties":5,"additionalProperties":{"type":"integer"}`, "self.all(k, self[k] > 0)", `{"a":1}`, `{"a":0}`},
		{`"type":"object","properties":{"i":{"type":"integer"}}`, "has(self.i)", `{"i":1}`, `{"i":1.0}`},
		{`"x-kubernetes-int-or-string":true`, "type(self) == int ? self < 10 : self == 'auto'", `"auto"`, `10`},
		{text, "quantity(self).isLessThan(quantity('1Gi'))", `"1Mi"`, `"2Gi"`},
		{text, "cidr('192.0.2.0/24').containsIP(ip(self))", `"192.0.2.7"`, `"192.0.3.7"`},
		{text, "url(self).getScheme() == 'https'", `"https://a"`, `"http://a"`},
		{text, "semver(self).isGreaterThan(semver('1.2.0'))", `"1.10.0"`, `"1.1.0"`},
		{text, "!format.dns1123Label().validate(self).hasValue()", `"a-b"`, `"a_b"`},
		{text, "self.find('[0-9]+') == '12'", `"a12b"`, `"ab"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := ruled(t, c.typ, c.rule)
			if errs := Check(t.Context(), field.NewPath("s"), s, everywhere); len(errs) > 0 {
				t.Fatal(errs)
			}
			v := NewValidator(s, nil)
			for text, holds := range map[string]bool{c.good: true, c.bad: false} {
				if errs := v.Validate(t.Context(), nil, decode(t, text), nil); (len(errs) == 0) != holds {
					t.Errorf("%s: %v", text, errs)
				}
			}
		})
	}
}

// Values that the schema allows may have no form of its type in CEL.
func TestValuesWithoutForm(t *testing.T) {
	for _, c := range []struct{ typ, value, want string }{
		{`"type":"integer"`, `2.0`, "invalid data, expected int, got float64"},
		{`"type":"string","format":"duration"`, `[]`, "invalid data, expected string, got []interface {}"},
		{`"x-kubernetes-int-or-string":true`, `2.0`, "expected XIntOrString value to be either a string or integer"},
	} {
		v := NewValidator(ruled(t, c.typ, "self == self"), nil)
		errs := v.Validate(t.Context(), nil, decode(t, c.value), nil)
		if len(errs) != 1 || !strings.Contains(errs[0].Detail, c.want) {
			t.Errorf("%s: %v", c.value, errs)
		}
	}
}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var f any
	if err := utiljson.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"f": f}
}

func TestTransitions(t *testing.T) {
	v := NewValidator(ruled(t, `"type":"integer"`, "self >= oldSelf"), nil)
	for _, c := range []struct {
		value, old string
		holds      bool
	}{{`3`, `2`, true}, {`1`, `2`, false}} {
		if errs := v.Validate(t.Context(), nil, decode(t, c.value), decode(t, c.old)); (len(errs) == 0) != c.holds {
			t.Errorf("%s after %s: %v", c.value, c.old, errs)
		}
	}
	if errs := v.Validate(t.Context(), nil, decode(t, `1`), nil); len(errs) > 0 {
		t.Errorf("a new object has nothing to change from: %v", errs)
	}
	// What was let in before the rule may stay, but not become as bad anew.
	plain := NewValidator(ruled(t, `"type":"integer"`, "self > 3"), nil)
	var warnings request.Warnings
	ctx := request.WithWarnings(t.Context(), &warnings)
	if errs := plain.Validate(ctx, nil, decode(t, `1`), decode(t, `1`)); len(errs) > 0 {
		t.Errorf("an unchanged value was refused: %v", errs)
	}
	if got, want := warnings.Texts(), []string{"f: Invalid value: 1: failed rule: self > 3"}; !slices.Equal(got, want) {
		t.Errorf("warned of %q, want %q", got, want)
	}
	if errs := plain.Validate(t.Context(), nil, decode(t, `2`), decode(t, `1`)); len(errs) == 0 {
		t.Error("a changed value was let in")
	}
}

// TestUnchangedObjects compares objects field by field, as CEL sees them: order is nothing
// in a set, and a number is one however it is written.
func TestUnchangedObjects(t *testing.T) {
	v := NewValidator(ruled(t, `"type":"object","properties":{"n":{"type":"number"},
		"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}`, "self == oldSelf"), nil)
	for _, c := range []struct {
		value, old string
		holds      bool
	}{
		{`{"n":1.0,"s":["y","x"]}`, `{"n":1,"s":["x","y"]}`, true},
		{`{"s":["x"]}`, `{"s":["y"]}`, false},
		{`{"n":1}`, `{"s":["x"]}`, false},
		{`{}`, `{"n":1}`, false},
	} {
		if errs := v.Validate(t.Context(), nil, decode(t, c.value), decode(t, c.old)); (len(errs) == 0) != c.holds {
			t.Errorf("%s after %s: %v", c.value, c.old, errs)
		}
	}
}

func TestCheck(t *testing.T) {
	const text = `"type":"string","maxLength":50`
	for rule, c := range map[string]struct{ typ, want string }{
		"true":                         {`"x-kubernetes-preserve-unknown-fields":true`, "unable to convert structural schema to CEL declarations"},
		"self >":                       {text, "compilation failed: ERROR: <input>:1:7: Syntax error"},
		"self == 1":                    {text, "found no matching overload for '_==_' applied to '(string, int)'"},
		"self.z == 'x'":                {`"type":"object","properties":{"a":{"type":"string"}}`, "undefined field 'z'"},
		"self":                         {text, "cel expression must evaluate to a bool"},
		"self.matches('(":              {text, "Syntax error"},
		"self.all(x, x.contains('a'))": {`"type":"array","items":{"type":"string"}`, "estimated rule cost exceeds budget by factor of more than 100x"},
	} {
		t.Run(rule, func(t *testing.T) {
			errs := Check(t.Context(), field.NewPath("s"), ruled(t, c.typ, rule), everywhere)
			if len(errs) == 0 || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("got %v, want %q", errs, c.want)
			}
		})
	}
}

func TestDefaultsBreakRules(t *testing.T) {
	for _, c := range []struct {
		rule, value string
		holds       bool
	}{{"self > 3", "4", true}, {"self > 3", "3", false}, {"self == oldSelf", "1", true}, {"self > oldSelf", "1", false}} {
		s := ruled(t, `"type":"integer"`, c.rule).Properties["f"]
		if errs := ValidateDefault(t.Context(), field.NewPath("default"), s, decode(t, c.value)["f"]); (len(errs) == 0) != c.holds {
			t.Errorf("%s of %s: %v", c.rule, c.value, errs)
		}
	}
}

// Rules below what rules cannot see are about what they can.
func TestRulesInUntyped(t *testing.T) {
	const untyped = `{"x-kubernetes-preserve-unknown-fields":true,"properties":{"f":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 3"}]}}}`
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(untyped), p); err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(p)
	if err != nil {
		t.Fatal(err)
	}
	if errs := Check(t.Context(), nil, s, everywhere); len(errs) > 0 {
		t.Fatal(errs)
	}
	for text, holds := range map[string]bool{"4": true, "3": false} {
		if errs := NewValidator(s, nil).Validate(t.Context(), nil, decode(t, text), nil); (len(errs) == 0) != holds {
			t.Errorf("%s: %v", text, errs)
		}
	}
}

// Stored schemas have rules where values have no type: of items of what is no list, and of a
// root that says none. They hold for no value.
func TestMisplacedRules(t *testing.T) {
	const rules = `"x-kubernetes-validations":[{"rule":"true"}]`
	const message = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
	for text, want := range map[string]string{
		`{"type":"object","properties":{"f":{"type":"object","items":{"type":"object",` + rules + `}}}}`:                             `f[0]: Invalid value: "object": ` + message,
		`{"type":"object","properties":{"f":{"type":"integer","items":{"type":"integer",` + rules + `}}}}`:                           `f[0]: Invalid value: "integer": ` + message,
		`{"type":"object","properties":{"f":{"type":"object","items":{"x-kubernetes-preserve-unknown-fields":true,` + rules + `}}}}`: `f[0]: Invalid value: "": ` + message,
		`{"x-kubernetes-preserve-unknown-fields":true,` + rules + `}`:                                                                `<nil>: Invalid value: "": ` + message,
		`{"type":"object","properties":{"f":{"type":"array","items":{"type":"object",` + rules + `}}}}`:                              "",
		`{"type":"object","properties":{"f":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true,` + rules + `}}}}`:  "",
		`{"type":"object","properties":{"f":{"x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object",` + rules + `}}}}`: "",
	} {
		p := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		s, err := schema.New(p)
		if err != nil {
			t.Fatal(err)
		}
		value := map[string]any{"f": []any{map[string]any{}}}
		got := ""
		for _, err := range NewValidator(s, nil).Validate(t.Context(), nil, value, value) {
			got += err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	v := NewValidator(ruled(b, `"type":"integer"`, "self > 3 && self < 100"), nil)
	obj := decode(b, `7`)
	b.ReportAllocs()
	for b.Loop() {
		if errs := v.Validate(b.Context(), nil, obj, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
