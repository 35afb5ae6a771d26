package cel

import (
	"errors"
	"strings"
	"testing"
)

// Expressions that would take the type checker minutes are rejected before. Realistic ones are not.
func TestComplexExpressions(t *testing.T) {
	e, err := Base()
	if err != nil {
		t.Fatal(err)
	}
	chain := func(n int, part string) string { return strings.TrimSuffix(strings.Repeat(part+"&&", n), "&&") }
	for source, complex := range map[string]bool{
		chain(500, "'a'=='a'"): false, chain(6000, "'a'=='a'"): true,
		"size([" + strings.Repeat("[],", 30000) + "[]]) > 0":   true,
		"size([" + strings.Repeat("'a',", 20000) + "'b']) > 0": false,
	} {
		if _, err := Compile(e, source); errors.Is(err, ErrComplex) != complex {
			t.Errorf("%.30s… of %d characters: %v", source, len(source), err)
		}
	}
}

// TestConstantPatterns compiles them with the expression.
func TestConstantPatterns(t *testing.T) {
	e, err := Base()
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"'abab'.find('b+') == 'b'": "", "'abab'.findAll('a').size() == 2": "", "'abab'.findAll('a', 1).size() == 1": "",
		"'a'.find('(') == ''": "missing closing )", "'a'.findAll('[', 2).size() > 1": "missing closing ]",
	} {
		ast, err := Compile(e, source)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewProgram(e, ast)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
		if err != nil {
			continue
		}
		if v, _, err := p.Eval(t.Context(), map[string]any{}); err != nil || v.Value() != true {
			t.Errorf("%s: %v, %v", source, v, err)
		}
	}
}
