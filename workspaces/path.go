package workspaces

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/filters"
)

// All is the name in paths that read one resource in all workspaces.
const All = "*"

// escapedAll is All as Go writes it in URLs.
const escapedAll = "%2A"

// Filters adds the filters of workspaces to the root chain: one that parses paths before all filters that use them, and
// one that calls the workspace's chain after authorization.
func (m *Manager) Filters(chain []filters.Filter) []filters.Filter {
	var with []filters.Filter
	for _, f := range chain {
		if f.Name == "requestInfo" {
			with = append(with, filters.Filter{Name: "workspace", Wrap: withPath})
		}
		with = append(with, f)
	}
	return append(with, filters.Filter{Name: "workspaces", Wrap: m.dispatch})
}

// withPath records the workspace of a request and removes it from the URL. It responds 404 to names that no workspace
// can have, and 400 to paths whose segments are not what they seem.
func withPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, urlPrefix) {
			next.ServeHTTP(w, r)
			return
		}
		name, inner, status := splitPath(r.URL.EscapedPath())
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		request.StateFrom(r.Context()).Workspace = name
		r = r.WithContext(r.Context())
		u := *r.URL
		u.Path, u.RawPath = r.URL.Path[len(urlPrefix)+len(name):], ""
		if u.Path == "" {
			u.Path = "/"
		}
		if u.EscapedPath() != inner {
			u.RawPath = inner
		}
		r.URL, r.RequestURI = &u, u.RequestURI()
		next.ServeHTTP(w, r)
	})
}

// splitPath splits the escaped path of a request into the name of the workspace and the escaped path inside it. The
// status is 200 if both are valid.
func splitPath(escaped string) (name, inner string, status int) {
	below, ok := strings.CutPrefix(escaped, urlPrefix)
	if !ok {
		return "", "", http.StatusBadRequest // "/workspaces/" is written with escapes
	}
	name, inner, _ = strings.Cut(below, "/")
	inner = "/" + inner
	if strings.EqualFold(name, escapedAll) {
		name = All
	}
	if name != All && len(validation.IsDNS1123Label(name)) > 0 {
		return "", "", http.StatusNotFound
	}
	segments := strings.Split(strings.ToLower(inner[1:]), "/")
	for i, s := range segments {
		switch {
		case s == "" && i < len(segments)-1, strings.Contains(s, "%2f"), strings.Contains(s, "%5c"), strings.Contains(s, `\`):
			return "", "", http.StatusBadRequest
		}
		switch strings.ReplaceAll(s, "%2e", ".") {
		case ".", "..":
			return "", "", http.StatusBadRequest
		}
	}
	return name, inner, http.StatusOK
}
