package filters

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triplane.dev/generic/base/request"
)

func TestCrossSite(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if withCrossSite(CrossSiteOptions{}, CORSOptions{}) != nil {
		t.Error("the filter is in the chain without a console")
	}
	h := withCrossSite(CrossSiteOptions{RejectCrossSite: true}, CORSOptions{CORSAllowedOrigins: []string{"//friend\\.example$"}})(ok)
	h = withExchange(nil, newStalls(nil, StalledLimit), FormatOptions{})(h)
	for _, c := range []struct {
		name, method string
		header       map[string]string
		code         int
	}{
		{"a program", "POST", nil, 204},
		{"the console itself", "POST", map[string]string{"Sec-Fetch-Site": "same-origin"}, 204},
		{"who typed the address", "GET", map[string]string{"Sec-Fetch-Site": "none"}, 204},
		{"a link on another site", "GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 204},
		{"a form of another site", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		{"a deletion by a neighbour", "DELETE", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"a WebSocket of another site", "GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Connection": "Upgrade", "Upgrade": "websocket"}, 403},
		{"a page that has a token", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"}, 204},
		{"an origin that CORS allows", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://friend.example"}, 204},
	} {
		r := httptest.NewRequest(c.method, "/api/v1/namespaces", nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.code)
		}
	}
}

func TestPublicFiles(t *testing.T) {
	file := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	behind := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := withPublicFiles(PublicFilesOptions{PublicFiles: file, PublicPrefixes: []string{"/console/"}})(behind)
	h = withExchange(nil, newStalls(nil, StalledLimit), FormatOptions{})(h)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/console/", 200}, {"HEAD", "/console/app.js", 200}, {"GET", "/console", 200},
		{"POST", "/console/", 418}, {"GET", "/consoles", 418}, {"GET", "/api", 418}, {"GET", "/", 418},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.code {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.code)
		}
	}
}

// Browsers get proxied responses sandboxed, other clients get them unchanged.
func TestProxiedPagesAreSandboxed(t *testing.T) {
	for _, c := range []struct {
		name                            string
		on, proxied, cookies, sandboxed bool
		header                          map[string]string
	}{
		{"a program", true, true, true, false, map[string]string{"Accept": "*/*"}},
		{"a page", true, true, false, true, map[string]string{"Accept": "text/html,application/xhtml+xml"}},
		{"what a page loads", true, true, false, true, map[string]string{"Sec-Fetch-Dest": "script"}},
		{"a service worker", true, true, false, true, map[string]string{"Service-Worker": "script"}},
		{"the server's own response", true, false, true, false, map[string]string{"Sec-Fetch-Dest": "document"}},
		{"a server without a console", false, true, true, false, map[string]string{"Sec-Fetch-Dest": "document"}},
	} {
		o := testOptions()
		o.Authorization = nil
		o.CrossSiteOptions = CrossSiteOptions{RejectCrossSite: true, SandboxProxied: c.on}
		chain := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.proxied {
				request.MarkProxied(r.Context())
			}
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Service-Worker-Allowed", "/")
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			_, _ = w.Write([]byte("<p>"))
		}), o)
		header := []string{"Authorization", "Bearer alice"}
		for k, v := range c.header {
			header = append(header, k, v)
		}
		h := serve(chain, "GET", "/api/v1/namespaces/ns/pods/p/proxy/", header...).Header()
		if cookies := h.Get("Set-Cookie") != ""; cookies != c.cookies {
			t.Errorf("%s: cookies %v", c.name, cookies)
		}
		if worker := h.Get("Service-Worker-Allowed") != ""; worker == (c.on && c.proxied) {
			t.Errorf("%s: Service-Worker-Allowed %v", c.name, worker)
		}
		policies := strings.Join(h["Content-Security-Policy"], ", ")
		if !strings.Contains(policies, "default-src 'self'") || strings.Contains(policies, "allow-same-origin") ||
			strings.Contains(policies, "sandbox allow-") != c.sandboxed {
			t.Errorf("%s: %s", c.name, policies)
		}
	}
}
