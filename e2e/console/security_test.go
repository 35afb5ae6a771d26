package console

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"triplane.dev/console"
	"triplane.dev/e2e/harness"
)

// run runs a command of triplane against the server.
func run(t *testing.T, s *harness.Server, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Programs.Triplane, append(args, "--kubeconfig", s.Kubeconfig)...).
		CombinedOutput()
	if err != nil {
		t.Fatalf("triplane %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// reply is an answer that was read.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// ask sends a request without any credential of its own.
func ask(t *testing.T, s *harness.Server, method, path string, header map[string]string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address(s)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableCompression: true}, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, body}
}

// The files need no user, have the types that they are, and all headers that keep
// others out.
func TestFilesOfTheConsole(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, "--anonymous-auth=false")
	for path, contentType := range map[string]string{
		"/console/": "text/html", "/console/app.js": "text/javascript", "/console/style.css": "text/css",
		"/console/icon.svg": "image/svg+xml",
		"/swagger-ui/":      "text/html", "/swagger-ui/swagger-ui-bundle.js": "text/javascript",
		"/swagger-ui/LICENSE.txt": "text/plain",
	} {
		for _, encoding := range []string{"", "gzip"} {
			resp := ask(t, s, http.MethodGet, path, map[string]string{"Accept-Encoding": encoding})
			if resp.code != http.StatusOK || !strings.HasPrefix(resp.header.Get("Content-Type"), contentType) {
				t.Errorf("%s: %d %s", path, resp.code, resp.header.Get("Content-Type"))
			}
			for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer"} {
				if got := resp.header.Get(name); got != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
			policy := resp.header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
				!strings.Contains(policy, "default-src 'none'") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
			if resp.header.Get("Set-Cookie") != "" {
				t.Errorf("%s sets cookies", path)
			}
		}
	}
	for path, code := range map[string]int{
		"/console": 301, "/swagger-ui": 301, "/console/nothing": 404, "/console/../api": 404,
		"/console/assets/app.js": 404, "/swagger-ui/swagger-ui-bundle.js.gz": 404,
		"/console/app.js/": 404, "/debug/chain": 401, "/debug/console/token": 401, "/api": 401,
	} {
		if resp := ask(t, s, http.MethodGet, path, nil); resp.code != code {
			t.Errorf("%s: %d, want %d", path, resp.code, code)
		}
	}
	tag := ask(t, s, http.MethodGet, "/console/app.js", nil).header.Get("ETag")
	if resp := ask(t, s, http.MethodGet, "/console/app.js",
		map[string]string{"If-None-Match": tag}); resp.code != http.StatusNotModified {
		t.Errorf("the same file again: %d", resp.code)
	}
}

// With an etcd of its own the server has no console unless it is asked for, and without
// the console nothing refuses other sites or knows its paths.
func TestNoConsole(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, "--console=false")
	for _, path := range []string{"/console/", "/swagger-ui/", console.TokenPath, "/debug/audit"} {
		if resp := ask(t, s, http.MethodGet, path, nil); resp.code != http.StatusForbidden {
			t.Errorf("%s: %d", path, resp.code)
		}
	}
	if out := s.Output(); strings.Contains(out, "console") {
		t.Errorf("the start names a console that there is not:\n%s", out)
	}
}

// A page of another site can neither frame the console nor have a browser change
// anything that shows a certificate, or let it open a WebSocket.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := start(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<body><iframe id=f src="%[1]s/console/"></iframe><script>
			const results = {}; window.results = results;
			const attempt = (name, path, init) => fetch('%[1]s' + path, {credentials: 'include', ...init}).then(r => { results[name] = r.type + r.status; }, () => { results[name] = 'blocked'; });
			attempt('read', '/api/v1/namespaces', {});
			attempt('create', '/api/v1/namespaces', {method: 'POST', mode: 'no-cors', body: new Blob(['{"metadata":{"name":"evil"}}'])});
			attempt('delete', '/api/v1/namespaces/default', {method: 'DELETE'});
			const ws = new WebSocket('%[2]s/api/v1/namespaces?watch=1');
			ws.onopen = () => { results.socket = 'open'; }; ws.onerror = () => { results.socket = 'blocked'; };
			setTimeout(() => { for (const name of ['read', 'create', 'delete', 'socket']) results[name] ??= 'unanswered'; }, 5000);
		</script></body>`, address(s), strings.Replace(address(s), "https", "wss", 1))
	}))
	t.Cleanup(evil.Close)
	b := open(t)
	var results map[string]string
	b.do(t, visit(evil.URL, ""), until(`Object.keys(window.results ?? {}).length === 4`),
		chromedp.Evaluate(`window.results`, &results))
	// A page does not see the answer to "create", and now and then Chromium gives it none, as the
	// server ends connections of unknown clients. What counts is below: it is not created.
	for _, name := range []string{"read", "delete", "socket"} {
		if results[name] != "blocked" {
			t.Errorf("%s by another site: %s", name, results[name])
		}
	}
	// The frame has an error page, of an origin of its own, or nothing.
	b.do(t, until(`(() => { try { return document.querySelector('#f').contentDocument?.querySelector('#token') == null } catch { return true } })()`))
	if out, err := s.TryKubectl(t, "", "get", "namespace", "evil"); err == nil {
		t.Errorf("the other site has created a namespace: %s", out)
	}

	// What a browser says of itself decides, also with an administrator's credential.
	for _, c := range []struct {
		site, method string
		code         int
	}{{"cross-site", "POST", 403}, {"same-site", "DELETE", 403}, {"same-origin", "POST", 401}, {"none", "GET", 200}} {
		path := "/api/v1/namespaces"
		header := map[string]string{"Sec-Fetch-Site": c.site}
		if c.code == 200 {
			path = "/console/"
		}
		if c.code == 401 {
			header["Authorization"] = "Bearer nobody"
		}
		if resp := ask(t, s, c.method, path, header); resp.code != c.code {
			t.Errorf("%s from %s: %d", c.method, c.site, resp.code)
		}
	}
}
