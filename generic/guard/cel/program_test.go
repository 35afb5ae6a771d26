package cel_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"

	shared "triplane/generic/guard/cel"
	"triplane/generic/guard/cel/library"
)

// environment is one with a dynamic variable o.
func environment(t testing.TB) *cel.Env {
	t.Helper()
	base, err := shared.Base()
	if err != nil {
		t.Fatal(err)
	}
	env, err := base.Extend(library.Authorizer(), cel.Variable("o", cel.DynType), cel.Variable("s", cel.StringType))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func program(t testing.TB, env *cel.Env, source string) (*cel.Ast, *shared.Program) {
	t.Helper()
	checked, err := shared.Compile(env, source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := shared.NewProgram(env, checked)
	if err != nil {
		t.Fatal(err)
	}
	return checked, p
}

// TestProgramsOfTheLibrary compares results, costs and errors with those of cel-go's own programs.
func TestProgramsOfTheLibrary(t *testing.T) {
	env := environment(t)
	vars := map[string]any{"s": "abcabc", "o": map[string]any{"n": int64(3), "t": "abc", "l": []any{int64(3), int64(1), int64(2), int64(1)},
		"texts": []any{"b", "a", "b"}, "lists": []any{[]any{int64(1)}, []any{[]any{int64(2)}}}, "re": "[", "none": nil}}
	for _, source := range []string{
		"1", "o.n + 1 == 4 ? s : 'x'", "o.?a.orValue(1)", "o.?n.orValue(1/0)", "o.?a.or(o.?n).value()", "o.?n.or(optional.of(1/0)).value()",
		"o.?a.orValue(1/0)", "optional.none().or(optional.of(3)).orValue(4)", "dyn(1).orValue(2)", "o[?'t'].optMap(x, string(x)).orValue('')",
		"s.matches('b.a')", "o.t.matches('b$')", "o.t.matches(o.t)", "o.t.matches(o.re)", "o.n.matches('a')", "s.matches(dyn(1))", "matches(s, 'x')",
		"s.find('b.')", "s.findAll('[ab]')", "o.t.findAll('[ab]', o.n)", "o.t.find(o.re)", "o.n.find('a')",
		"[3,1,2].sort()", "['b','a'].sort() == ['a','b']", "o.l.sort()", "o.l.distinct()", "o.texts.distinct()", "[1,2,3].slice(1,2)", "o.lists.flatten()",
		"o.lists.flatten(2)", "lists.range(10).reverse()", "[{'a': 2}, {'a': 1}].sortBy(x, x.a)", "o.texts.sortBy(x, x)", "[[1]].flatten()",
		"sets.contains(o.l, [1, 2])", "sets.equivalent([1,2], o.l)", "sets.intersects(o.l, [7])", "o.l.all(x, x > 0)", "o.l.map(x, x * 2).exists(y, y == 4)",
		"o.l.exists_one(i, v, v == 1)", "has(o.t) && !has(o.zz)", "o.zz", "o.zz == 1 || true", "1/0 == 1 || o.n == 3", "s + s in [s, 'a'] || s.startsWith('a')",
		"[1, 2].indexOf(2)", "'%d %s'.format([1, s])", "quantity('1Gi').isGreaterThan(quantity('1'))", "duration('1h') > duration('1m')",
		"{'a': 1}.a", "type(o.n) == int", "string(o.n) + s.upperAscii()", "timestamp('2024-01-01T00:00:00Z').getFullYear()", "[[1,2],[3]].map(l, l.map(x, x + 1))",
		"o.l.map(x, o.l.map(y, o.l.map(z, o.l.map(a, o.l.map(b, o.l.map(c, o.l.map(d, o.l.map(e, o.l.map(f, f)))))))))", "s.split('b').join('-')",
	} {
		checked, mine := program(t, env, source)
		theirs, err := env.Program(checked, cel.CostLimit(shared.PerCallLimit), cel.InterruptCheckFrequency(100),
			cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostTracking(library.ActualCosts{}),
			cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)))
		if err != nil {
			t.Fatal(err)
		}
		got, cost, err := mine.Eval(t.Context(), vars)
		want, details, wantErr := theirs.ContextEval(t.Context(), vars)
		if text(err) != text(wantErr) || cost != *details.ActualCost() {
			t.Errorf("%s: cost %d, %v; want %d, %v", source, cost, err, *details.ActualCost(), wantErr)
		}
		if err == nil && got.Equal(want) != want.Equal(want) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestInterruptedSearch ends a search that takes minutes with its context.
func TestInterruptedSearch(t *testing.T) {
	env := environment(t)
	for _, function := range []string{"matches", "find"} {
		for _, regex := range []string{"'" + strings.Repeat("(a?){500}", 20) + "$b'", "o"} {
			_, p := program(t, env, "s."+function+"("+regex+") == s."+function+"('x')")
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _, err := p.Eval(ctx, map[string]any{"s": strings.Repeat("a", 1<<17), "o": strings.Repeat("(a?){500}", 20) + "$b"})
			cancel()
			if err == nil || !strings.Contains(err.Error(), "operation interrupted") {
				t.Errorf("%s: %v", function, err)
			}
		}
	}
}

// TestSizeOfPrograms expects that a program does not keep what its expression does not use.
func TestSizeOfPrograms(t *testing.T) {
	env := environment(t)
	kept := make([]*shared.Program, 1000)
	before := heap()
	for i := range kept {
		_, kept[i] = program(t, env, "o.n > 1 && s.startsWith('a')")
	}
	if each := (heap() - before) / len(kept); each > 8<<10 {
		t.Errorf("a program takes %d bytes", each)
	}
	runtime.KeepAlive(kept)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // fits
}
