package egress

import (
	"context"
	"net/http"
	"net/url"

	"triplane.dev/internal/worker"
)

// ResolveRequests returns a transport that sends each request to the host, host:port, of the URL that resolve
// returns for it. t has a separate pool of connections for each host. A connection is therefore used only for
// requests whose Service resolves to its address, and one to an unused address ends with the idle timeout of t.
//
// Only the destination changes: the Host header and errors have the host of the request. t must verify
// certificates by an explicit TLS server name, and must not use a proxy.
//
// An error of resolve is returned unchanged. A request ends with its context, even during resolve.
func ResolveRequests(t http.RoundTripper, resolve func() (*url.URL, error)) http.RoundTripper {
	return resolved{t, resolve}
}

type resolved struct {
	http.RoundTripper
	resolve func() (*url.URL, error)
}

// RoundTrip implements http.RoundTripper.
func (t resolved) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := t.resolveWithin(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // RoundTrip must close it
		}
		return nil, err
	}
	out, location := r.WithContext(r.Context()), *r.URL
	location.Host = to.Host
	out.URL = &location
	if out.Host == "" {
		out.Host = r.URL.Host
	}
	response, err := t.RoundTripper.RoundTrip(out)
	if err == nil {
		response.Request = r
	}
	return response, err
}

// resolveWithin returns the result of resolve, or the error of the context if that ends first: the first call may
// wait until all Services are cached.
func (t resolved) resolveWithin(ctx context.Context) (*url.URL, error) {
	done := make(chan error, 1)
	var found *url.URL
	worker.Go(func() {
		done <- worker.Try(func() (err error) {
			found, err = t.resolve()
			return err
		})
	})
	select {
	case err := <-done:
		return found, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// WrappedRoundTripper gives callers access to the transport, to close its idle connections.
func (t resolved) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
