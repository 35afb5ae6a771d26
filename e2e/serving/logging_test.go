// The log as JSON, and its verbosity while the server runs.

package serving

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// TestLogAsJSON reads each line of a log that is asked for as JSON, among them those of
// requests.
func TestLogAsJSON(t *testing.T) {
	s := harness.Start(t, "--logging-format=json", "-v=3")
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	requests := 0
	for line := range strings.Lines(s.Output()) {
		if !strings.HasPrefix(line, "{") {
			continue // of the start, on standard output
		}
		var entry struct {
			TS                 float64
			Msg, Verb, URI     string
			Latency, UserAgent string
			Resp               int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.TS == 0 || entry.Msg == "" {
			t.Errorf("%s: %v", line, err)
		}
		if entry.Msg == "HTTP" && entry.Verb == "GET" && entry.URI == "/readyz" && entry.Latency != "" &&
			entry.Resp != 0 {
			requests++
		}
	}
	if requests == 0 {
		t.Errorf("no request was logged:\n%s", s.Output())
	}
}

// TestVerbosityChanges has requests logged from some time on.
func TestVerbosityChanges(t *testing.T) {
	s := harness.Start(t)
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string, code int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Config.Host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != code {
			t.Errorf("%s %s: %s", method, path, resp.Status)
		}
	}
	ask("GET", "/version?before", "", http.StatusOK)
	ask("GET", "/debug/flags", "", http.StatusOK)
	ask("GET", "/debug/flags/v", "", http.StatusNotAcceptable)
	ask("PUT", "/debug/flags/v", "-1", http.StatusBadRequest)
	ask("PUT", "/debug/flags/v", "3", http.StatusOK)
	ask("GET", "/version?after", "", http.StatusOK)
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	if out := s.Output(); strings.Contains(out, "/version?before") ||
		!strings.Contains(out, `"HTTP" verb="GET" URI="/version?after" latency="`) {
		t.Errorf("the log is\n%s", out)
	}
}
