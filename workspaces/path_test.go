package workspaces

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"triplane.dev/generic/serve/filters"
)

func TestSplitPath(t *testing.T) {
	const ok, bad, missing = http.StatusOK, http.StatusBadRequest, http.StatusNotFound
	for _, c := range []struct {
		path        string
		name, inner string
		status      int
	}{
		{"/workspaces/a", "a", "/", ok},
		{"/workspaces/a/", "a", "/", ok},
		{"/workspaces/a/api/v1/namespaces/x", "a", "/api/v1/namespaces/x", ok},
		{"/workspaces/a/openapi/v3/", "a", "/openapi/v3/", ok},
		{"/workspaces/*/api/v1/pods", "*", "/api/v1/pods", ok},
		{"/workspaces/%2A/api/v1/pods", "*", "/api/v1/pods", ok},
		{"/workspaces/a/api/v1/namespaces/x%20y", "a", "/api/v1/namespaces/x%20y", ok},
		{"/workspaces/", "", "", missing},
		{"/workspaces//api", "", "", missing},
		{"/workspaces/A/api", "", "", missing},
		{"/workspaces/a.b/api", "", "", missing},
		{"/workspaces/%61/api", "", "", missing},
		{"/workspaces/a%2fb/api", "", "", missing},
		{"/workspaces/../api", "", "", missing},
		{"/workspaces/.base/api", "", "", missing},
		{"/%77orkspaces/a/api", "", "", bad},
		{"/workspaces/a/../b/api", "", "", bad},
		{"/workspaces/a/%2e%2e/b/api", "", "", bad},
		{"/workspaces/a/%2E./b/api", "", "", bad},
		{"/workspaces/a/./api", "", "", bad},
		{"/workspaces/a//api", "", "", bad},
		{"/workspaces/a/api%2fv1", "", "", bad},
		{"/workspaces/a/api%5Cv1", "", "", bad},
		{`/workspaces/a/api\v1`, "", "", bad},
	} {
		name, inner, status := splitPath(c.path)
		if name != c.name || inner != c.inner || status != c.status {
			t.Errorf("%s: got %q, %q, %d", c.path, name, inner, status)
		}
	}
}

// The chain sees an ordinary path, and nothing but the workspace's name changes.
func TestPathsInsideWorkspaces(t *testing.T) {
	for _, c := range []struct{ target, path, raw, uri string }{
		{"/workspaces/a/api/v1?watch=1", "/api/v1", "", "/api/v1?watch=1"},
		{"/workspaces/a", "/", "", "/"},
		{"/workspaces/a/x%3Ay", "/x:y", "/x%3Ay", "/x%3Ay"},
		{"/workspaces/*/api/v1/pods", "/api/v1/pods", "", "/api/v1/pods"},
		{"/workspaces/%2a/api/v1/pods", "/api/v1/pods", "", "/api/v1/pods"},
		{"/workspacesa/b", "/workspacesa/b", "", "/workspacesa/b"},
		{"/api/workspaces/a", "/api/workspaces/a", "", "/api/workspaces/a"},
	} {
		var got *http.Request
		chain := filters.Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }), filters.Options{
			BuildHandlerChain: func(all []filters.Filter) []filters.Filter {
				return []filters.Filter{all[0], all[1], {Name: "workspace", Wrap: withPath}}
			},
		})
		chain.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, c.target, nil))
		if got.URL.Path != c.path || got.URL.RawPath != c.raw || got.RequestURI != c.uri {
			t.Errorf("%s: got %q, %q, %q", c.target, got.URL.Path, got.URL.RawPath, got.RequestURI)
		}
	}
}
