// The memory of idle watches.

package serving

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// TestStackOfIdleWatches fails if a watch that waits for events has a goroutine.
func TestStackOfIdleWatches(t *testing.T) {
	const watches, most = 1000, 500
	s := harness.Start(t, "--controllers=none")
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context, path string) io.ReadCloser {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Config.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, resp.Status)
		}
		return resp.Body
	}
	// stacks returns the bytes of all stacks after garbage collections, each of which halves a stack at most.
	inUse := regexp.MustCompile(`(?m)^# Stack = (\d+)`)
	stacks := func() int {
		var text []byte
		for range 4 {
			body := open(t.Context(), "/debug/pprof/heap?gc=1&debug=1")
			if text, err = io.ReadAll(body); err != nil {
				t.Fatal(err)
			}
			body.Close()
		}
		found := inUse.FindSubmatch(text)
		if found == nil {
			t.Fatalf("no size of stacks in %.2000s", text)
		}
		n, _ := strconv.Atoi(string(found[1]))
		return n
	}
	before := stacks()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range watches {
		defer open(ctx, "/api/v1/namespaces/default/configmaps?watch=true").Close()
	}
	if each := (stacks() - before) / watches; each > most {
		t.Errorf("idle watches have stacks of %d bytes each, more than %d", each, most)
	}
}
