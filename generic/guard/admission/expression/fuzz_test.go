package expression

import (
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
)

// FuzzExpression compiles and evaluates expressions. They may be rejected or fail, but must neither panic nor
// exceed the budget.
func FuzzExpression(f *testing.F) {
	for _, source := range []string{
		"object.data.k == 'v'", "request.userInfo.groups.all(g, g.matches('^(a+)+$'))", "[1,2,3].map(x, [1,2,3].map(y, [1,2,3].map(z, x*y*z))).size() > 0",
		"authorizer.group('').resource('pods').check('get').allowed()", "quantity('1Gi').isGreaterThan(quantity('1'))", "ip('::1').isLoopback()",
		"object.?data[?'k'].orValue('') == 'v'", "1/0 == 1", "int('9223372036854775807')+1 > 0", "string(b'\\xff') == ''", "cel.bind(x, x, x)", "(((((", "'%d'.format([object])", "\x00",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 4096 {
			return
		}
		c, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		c.Declare()
		x := c.Compile(Scope{Params: true, Authorizer: true}, source, types.BoolType)
		if x.Err() != nil {
			return
		}
		begun := time.Now()
		out, err := NewEvaluation(values(t), map[string]any{}, PolicyBudget).Evaluate(t.Context(), x)
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%q took %v", source, took)
		}
		if err == nil && out != types.True && out != types.False {
			t.Errorf("%q is %v", source, out)
		}
	})
}
