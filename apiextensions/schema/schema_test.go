package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func props(t *testing.T, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := New(props(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func messages(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   []string
	}{
		"structural":          {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, nil},
		"no type":             {`{"type":"object","properties":{"a":{}}}`, []string{"s.properties[a].type: Required value: must not be empty for specified object fields"}},
		"no items":            {`{"type":"object","properties":{"a":{"type":"array"}}}`, []string{"s.properties[a].items: Required value: must be specified"}},
		"type in logic":       {`{"type":"object","anyOf":[{"type":"object"}]}`, []string{"s.anyOf[0].type: Forbidden: must be empty to be structural"}},
		"int or string":       {`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, nil},
		"metadata restricted": {`{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}`, []string{"s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"}},
		"named in logic only": {`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object"}},"p":{"type":"object","anyOf":[{"properties":{"below":{}}}]}},"allOf":[{"properties":{"a":{}}}],"not":{"properties":{"l":{"items":{"properties":{"b":{}}}}}}}`, []string{
			"s.properties[a]: Required value: because it is defined in s.allOf[0].properties[a]",
			"s.properties[l].items.properties[b]: Required value: because it is defined in s.not.properties[l].items.properties[b]"}},
		"int or string or more": {`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true}}}`, []string{
			"s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true"}},
		"root is a list": {`{"type":"array","items":{"type":"string"}}`, []string{`s.type: Invalid value: "array": must be object at the root`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := messages(Check(field.NewPath("s"), read(t, c.schema))); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	for name, c := range map[string]struct {
		schema, value, want string
		removed             []string
	}{
		"unknown":           {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x","b":1,"kind":"K"}`, `{"a":"x","kind":"K"}`, []string{"b"}},
		"in lists and maps": {`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object"}},"m":{"type":"object","additionalProperties":{"type":"object"}}}}`, `{"l":[{"x":1}],"m":{"k":{"y":2}}}`, `{"l":[{}],"m":{"k":{}}}`, []string{"l[0].x", "m.k.y"}},
		"preserved":         {`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"object"}}}`, `{"a":{"x":1},"b":{"y":[{"z":1}]}}`, `{"a":{},"b":{"y":[{"z":1}]}}`, []string{"a.x"}},
		"embedded":          {`{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}}`, `{"e":{"kind":"K","metadata":{"name":"n"},"x":1}}`, `{"e":{"kind":"K","metadata":{"name":"n"}}}`, []string{"e.x"}},
		"anything goes":     {`{"type":"object","properties":{"m":{"type":"object","additionalProperties":true}}}`, `{"m":{"a":{"b":1},"c":2}}`, `{"m":{"a":{},"c":2}}`, []string{"m.a.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := value(t, c.value)
			removed := Prune(v, read(t, c.schema), true)
			if !reflect.DeepEqual(v, value(t, c.want)) || !slices.Equal(removed, c.removed) {
				t.Errorf("got %v, removed %q", v, removed)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	const s = `{"type":"object","properties":{
		"a":{"type":"string","default":"x"},"n":{"type":"string","nullable":true,"default":"y"},"p":{"type":"string"},
		"o":{"type":"object","properties":{"d":{"type":"integer","default":1}}},
		"l":{"type":"array","items":{"type":"object","properties":{"d":{"type":"integer","default":2}}}}}}`
	for _, c := range []struct{ value, want string }{
		{`{}`, `{"a":"x","n":"y"}`},
		{`{"a":null,"n":null,"p":null}`, `{"a":"x","n":null}`},
		{`{"o":{},"l":[{},{"d":5}]}`, `{"a":"x","n":"y","o":{"d":1},"l":[{"d":2},{"d":5}]}`},
	} {
		v, schema := value(t, c.value), read(t, s)
		DropNulls(v, schema)
		Default(v, schema)
		if !reflect.DeepEqual(v, value(t, c.want)) {
			t.Errorf("%s: got %v", c.value, v)
		}
	}
}

func TestValidate(t *testing.T) {
	const s = `{"type":"object","required":["r"],"properties":{"r":{"type":"string"},
		"e":{"type":"string","enum":["a","b"]},"m":{"type":"string","maxLength":2},"i":{"type":"integer","format":"int32"},
		"l":{"type":"array","maxItems":1,"items":{"type":"string"}},"ios":{"x-kubernetes-int-or-string":true},
		"tf":{"type":"string","format":"int32"},"nf":{"type":"number","format":"ipv4"},"ip":{"type":"string","format":"ipv4"}}}`
	v, err := NewValidator(props(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ value, want string }{
		{`{"r":"x"}`, ""},
		{`{}`, "r: Required value"},
		{`{"r":1}`, `r: Invalid value: "integer": r in body must be of type string: "integer"`},
		{`{"r":"x","e":"c"}`, `e: Unsupported value: "c": supported values: "a", "b"`},
		{`{"r":"x","m":"abc"}`, "m: Too long: may not be more than 2 bytes"},
		{`{"r":"x","l":["a","b"]}`, "l: Too many: 2: must have at most 1 item"},
		{`{"r":"x","tf":1}`, `tf: Invalid value: "integer": tf in body must be of type string: "integer"`},
		{`{"r":"x","nf":true}`, `nf: Invalid value: "boolean": nf in body must be of type number: "boolean"`},
		{`{"r":"x","ip":"a"}`, `ip: Invalid value: "a": ip in body must be of type ipv4: "a"`},
		{`{"r":"x","ios":true}`, `ios: Invalid value: "boolean": ios in body must be of type integer,string: "boolean"`},
	} {
		if got := strings.Join(messages(v.Validate(t.Context(), nil, value(t, c.value))), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.value, got, c.want)
		}
	}
}

func TestValidateLists(t *testing.T) {
	const s = `{"type":"object","properties":{
		"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}}}`
	for _, c := range []struct{ value, want string }{
		{`{"s":["a","b"],"m":[{"k":"a"},{"k":"b"}]}`, ""},
		{`{"s":["a","b","a","a"]}`, `s[2]: Duplicate value: "a"`},
		{`{"m":[{"k":"a","v":1},{"k":"a","v":2}]}`, `m[1]: Duplicate value: {"k":"a"}`},
		{`{"m":[{"k":"a"},5,{"k":"a"}]}`, `m[1]: Invalid value: 5: must be an object for an array of list-type map`},
		{`{"m":[{"k":1},{"k":1.0},{"k":[true,{"a":2}]},{"k":[true,{"a":2.0}]}]}`, ""},
		{`{"m":[{"k":[true,{"a":2,"b":"x"}]},{"k":[true,{"b":"x","a":2}]}]}`, `m[1]: Duplicate value: {"k":[true,{"a":2,"b":"x"}]}`},
		{`{"m":[null,null]}`, `m[1]: Duplicate value: {}`},
	} {
		if got := strings.Join(messages(ValidateLists(nil, read(t, s), value(t, c.value))), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.value, got, c.want)
		}
	}
}

func TestCoerceRoot(t *testing.T) {
	v := value(t, `{"metadata":{"name":"a","colour":"red","creationTimestamp":null}}`)
	unknown, err := CoerceRoot(v, true)
	if err != nil || !slices.Equal(unknown, []string{"metadata.colour"}) || !reflect.DeepEqual(v, value(t, `{"metadata":{"name":"a"}}`)) {
		t.Errorf("got %v, %v, %v", v, unknown, err)
	}
	if _, err := CoerceRoot(value(t, `{"metadata":{"labels":{"a":1}}}`), true); err == nil {
		t.Error("labels that are numbers were taken")
	}
}

func TestParseFieldPath(t *testing.T) {
	for path, want := range map[string][]string{
		".spec.a": {"spec", "a"}, ".spec['a-b'].c": {"spec", "a-b", "c"}, ".a[0]": nil, "a": nil, ".a['b": nil,
	} {
		got, err := ParseFieldPath(path)
		if !slices.Equal(got, want) && want != nil || (err != nil) != (want == nil) {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}

func BenchmarkPruneDefaultValidate(b *testing.B) {
	text := `{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"integer","default":1},"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}}}}}`
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		b.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		b.Fatal(err)
	}
	v, err := NewValidator(p)
	if err != nil {
		b.Fatal(err)
	}
	obj := map[string]any{"apiVersion": "g/v1", "kind": "K", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"a": "x", "l": []any{map[string]any{"x": "y"}}}}
	b.ReportAllocs()
	for b.Loop() {
		Prune(obj, s, true)
		Default(obj, s)
		v.Validate(b.Context(), nil, obj)
	}
}

func TestPreserving(t *testing.T) {
	s := read(t, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}}},
		"l":{"type":"array","items":{"type":"object"}},"m":{"type":"object","additionalProperties":true}}}`)
	const text = `{"a":{"b":1,"c":null},"l":[{"d":2}],"m":{"e":{"f":3}},"g":4}`
	v := value(t, text)
	if removed := Prune(v, s.Preserving(), true); len(removed) > 0 || !reflect.DeepEqual(v, value(t, text)) {
		t.Errorf("removed %v: %v", removed, v)
	}
	if removed := Prune(v, s, true); !slices.Equal(removed, []string{"a.c", "g", "l[0].d", "m.e.f"}) {
		t.Errorf("without: removed %v", removed)
	}
	nulls := `{"a":null,"d":null}`
	v = value(t, nulls)
	s = read(t, `{"type":"object","properties":{"a":{"type":"string"},"d":{"type":"string","default":"x"}}}`).Preserving()
	DropNulls(v, s)
	if !reflect.DeepEqual(v, value(t, nulls)) {
		t.Errorf("nulls became %v", v)
	}
	if Default(v, s); !reflect.DeepEqual(v, value(t, `{"a":null,"d":"x"}`)) {
		t.Errorf("defaults made %v", v)
	}
}
