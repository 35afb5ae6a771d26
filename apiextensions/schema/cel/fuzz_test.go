package cel

import (
	"encoding/json"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// FuzzRule has what may be a rule checked as that of a CRD, and what was not refused
// evaluated for what may be an object: nothing panics, what is refused once is so
// again, and neither takes longer than the limits of costs allow.
func FuzzRule(f *testing.F) {
	const list = `"type":"array","maxItems":64,"items":{"type":"string","maxLength":64}`
	const tree = `"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"integer"},"b":{"type":"object","maxProperties":9,"additionalProperties":{"type":"string","maxLength":9}}}`
	for _, seed := range [][3]string{
		{`"type":"string","maxLength":64`, "self.matches('^(a+)+$') && self.size() < 9", `{"f":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}`},
		{list, "self.all(x, self.all(y, self.all(z, x + y + z != '')))", `{"f":["a","b",""]}`},
		{list, "self.map(x, self.map(y, x + y)).size() > 0", `{"f":["a"]}`},
		{tree, "has(self.a) && self.b.all(k, self.b[k].startsWith(string(self.a)))", `{"f":{"a":1,"b":{"x":"1"},"c":null}}`},
		{tree, "self.a / 0 == 1 || self == oldSelf", `{"f":{"a":9223372036854775807}}`},
		{`"x-kubernetes-int-or-string":true`, "type(self) == int ? self + 1 > 0 : string(self) == ''", `{"f":9223372036854775807}`},
		{`"type":"string","format":"duration"`, "duration(self) + duration('1h') > duration('0s')", `{"f":"-2562047h"}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, typ, rule, object string) {
		if len(rule) > 1<<12 || len(object) > 1<<14 || len(typ) > 1<<12 {
			return
		}
		text, err := json.Marshal(rule)
		if err != nil {
			return
		}
		p := &apiextensionsv1.JSONSchemaProps{}
		if json.Unmarshal([]byte(`{"type":"object","properties":{"f":{`+typ+`,"x-kubernetes-validations":[{"rule":`+string(text)+`}]}}}`), p) != nil {
			return
		}
		s, err := schema.New(p)
		if err != nil || len(schema.Check(field.NewPath("s"), s)) > 0 {
			return
		}
		begun := time.Now()
		refused := len(Check(t.Context(), field.NewPath("s"), s, everywhere)) > 0
		if again := len(Check(t.Context(), field.NewPath("s"), s, everywhere)) > 0; again != refused {
			t.Errorf("%s: %v, and %v again", rule, refused, again)
		}
		var v map[string]any
		validator := NewValidator(s, nil)
		if refused || validator == nil || utiljson.Unmarshal([]byte(object), &v) != nil {
			return
		}
		schema.Default(v, s)
		schema.Prune(v, s, false)
		validator.Validate(t.Context(), nil, v, v)
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s of %s took %v", rule, object, took)
		}
	})
}
