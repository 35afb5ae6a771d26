package transport

import (
	"context"
	"net/http"
	"strings"
)

// Annotation is the annotation of objects that were read in all workspaces: the workspace of the object. The server
// sets it, whatever the stored object has.
const Annotation = "workspaces.triplane.dev/workspace"

// all is the path of all workspaces.
const all = "/workspaces/*/"

type key struct{}

// In returns a context whose requests are sent to a workspace; "" sends them to all.
func In(ctx context.Context, workspace string) context.Context {
	return context.WithValue(ctx, key{}, workspace)
}

// Wrap returns a RoundTripper that sends requests to the workspace of their context. It is a wrapper for
// rest.Config.Wrap.
func Wrap(next http.RoundTripper) http.RoundTripper { return wrapper{next} }

type wrapper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w wrapper) RoundTrip(r *http.Request) (*http.Response, error) {
	name, _ := r.Context().Value(key{}).(string)
	before, after, found := strings.Cut(r.URL.Path, all)
	if name == "" || !found {
		return w.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = before+strings.Replace(all, "*", name, 1)+after, ""
	return w.next.RoundTrip(r)
}
