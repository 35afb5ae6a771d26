package cel

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane.dev/apiextensions/schema"
)

// unknownSize is what cel-go takes for comparing values of which it knows no size.
const unknownSize = 1844674407370955262

const costed = `{"type":"object","properties":{
	"i":{"type":"integer"}, "short":{"type":"string","maxLength":63}, "s":{"type":"string"},
	"e":{"type":"string","enum":["abc","de"]}, "b":{"type":"string","format":"byte","maxLength":100},
	"at":{"type":"string","format":"date-time"}, "after":{"type":"string","format":"duration"},
	"ats":{"type":"array","items":{"type":"string","format":"date-time"}},
	"any":{"x-kubernetes-int-or-string":true}, "port":{"x-kubernetes-int-or-string":true,"maxLength":20},
	"ints":{"type":"array","items":{"type":"integer"}},
	"texts":{"type":"array","maxItems":10,"items":{"type":"string","maxLength":10}},
	"map":{"type":"object","additionalProperties":{"type":"string"}},
	"labels":{"type":"object","maxProperties":20,"additionalProperties":{"type":"string","maxLength":63}}}}`

// TestEstimates compares estimates with those that kube-apiserver shows when it
// refuses a rule.
func TestEstimates(t *testing.T) {
	p := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal([]byte(costed), p); err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(p)
	if err != nil {
		t.Fatal(err)
	}
	tree, n := newTree(s)
	e, err := tree.env()
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]uint64{
		"self.s.contains('a')":                                   314575,
		"self.short.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')":     184,
		"self.e.contains('a')":                                   3,
		"self.any == 'a' && self.port.contains('a')":             3 + 10,
		"type(self.any) == int ? self.any > 5 : true":            6 + 1,
		"self.ints.isSorted()":                                   1572863 + 2,
		"self.texts.isSorted()":                                  10*5 + 2,
		"self.texts.join(',') == 'a'":                            44,
		"self.map.all(k, k.contains('a'))":                       4*393215 + 3,
		"self.labels.map(k, k + 'a').all(k, k == 'a')":           374,
		"self.labels.all(k, self.labels[k].matches('^a'))":       663,
		"self.s.split(',').size() < 3":                           629150,
		"self.s.upperAscii().contains('A')":                      629148,
		"self.s.replace('a', 'bb').contains('A')":                629146 + 629146 + 2,
		"self.s.find('a+') == 'a'":                               314576,
		"self.short.findAll('a+').all(x, x.contains('a'))":       1037,
		"quantity(self.s) == quantity(self.s)":                   629151,
		"ip.isCanonical(self.s)":                                 629148,
		"isURL(self.s)":                                          3,
		"url(self.s).getScheme() == 'https'":                     314577,
		"url(self.short) == url('a')":                            2 + 26 + 1 + 1,
		"url('a') == url(self.short)":                            1 + 2 + 26 + 26,
		"format.uri() == format.uri()":                           9,
		"quantity('1') != quantity('1')":                         unknownSize + 4,
		"self.at == self.at && self.after == self.after":         8 + 8,
		"self.ats.exists(t, true)":                               4*142987 + 3,
		"sets.contains(self.texts, self.texts)":                  105,
		"!format.dns1123Label().validate(self.short).hasValue()": 837,
		"self.b.size() < 5":                                      4,
	} {
		r, _ := compileRule(n.environment(e), &apiextensionsv1.ValidationRule{Rule: rule})
		if r.err != nil {
			t.Errorf("%s: %v", rule, r.err)
			continue
		}
		ruleEnv, err := n.environment(e)(false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cost(ruleEnv, r.program, n); err != nil || got != want {
			t.Errorf("%s costs %d, %v; want %d", rule, got, err, want)
		}
	}
}
