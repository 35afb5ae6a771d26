package library

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"
)

// Large exponents of quantities do not make an evaluation slow.
func TestQuantitiesOfLongExponents(t *testing.T) {
	env, err := cel.NewEnv(Kubernetes())
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"isQuantity('1e-999999999')":                           "false",
		"isQuantity('1e3')":                                    "true",
		"quantity('1e999999999').isLessThan(quantity('1'))":    "quantities must have at most 1000 digits, and 3 in their exponents",
		"quantity('1e-3').isLessThan(quantity('1'))":           "true",
		"quantity('1').compareTo(quantity('1e-99999')) == 1":   "quantities must have at most 1000 digits, and 3 in their exponents",
		"quantity('1').add(quantity('1e-99999')).isInteger()":  "quantities must have at most 1000 digits, and 3 in their exponents",
		"quantity('0.000001e3').isGreaterThan(quantity('1m'))": "false",
	} {
		ast, issues := env.Compile(source)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := program.Eval(map[string]any{})
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(out.Value())
		}
		if got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
