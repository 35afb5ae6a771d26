// The table form of the tests of this package: commands in order, with what each must print.

package kubectl

import (
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// step is one call of kubectl in a flow.
type step struct {
	// args of the call.
	args []string
	// stdin is what kubectl reads from "-f -".
	stdin string
	// want is what the output contains, and not what it does not.
	want, not []string
	// fails says that kubectl must exit with an error.
	fails bool
}

// flow runs steps in a namespace, one after the other.
func flow(t *testing.T, s *harness.Server, namespace string, steps []step) {
	t.Helper()
	for _, st := range steps {
		args := st.args
		if namespace != "" {
			args = append([]string{"-n", namespace}, args...)
		}
		out, err := s.TryKubectl(t, st.stdin, args...)
		call := "kubectl " + strings.Join(args, " ")
		if (err != nil) != st.fails {
			t.Fatalf("%s: %v\n%s", call, err, out)
		}
		for _, want := range st.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in:\n%s", call, want, out)
			}
		}
		for _, not := range st.not {
			if strings.Contains(out, not) {
				t.Errorf("%s: %q in:\n%s", call, not, out)
			}
		}
	}
}

// words are the arguments of a call without spaces in them.
func words(s string) []string { return strings.Fields(s) }
