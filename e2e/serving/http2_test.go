// The conformance of HTTP/2.

package serving

import (
	"os/exec"
	"strconv"
	"testing"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
)

// TestHTTP2Conformance runs h2spec, which plays faults of clients and expects what RFC 9113 and RFC 7541 say.
func TestHTTP2Conformance(t *testing.T) {
	s := harness.Start(t, "--controllers=none")
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, programs.H2spec),
		"-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-t", "-k", "-P", "/version")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
