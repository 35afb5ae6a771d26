package jwt

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	callTimeout = 30 * time.Second
	// maxResponse limits the bytes of an issuer's response.
	maxResponse = 1 << 20
	// keysTTL is how long fetched keys are cached. Clients can send tokens with unknown key IDs; the cache
	// limits the requests to the issuer that these cause.
	keysTTL = time.Second
)

// transport limits requests to an issuer: their lifetime to that of the owner, the size of responses, and how
// often keys are fetched.
type transport struct {
	owner   context.Context //nolint:containedctx // requests end when it ends
	inner   *http.Transport
	metrics *issuerMetrics

	mu   sync.Mutex
	keys map[string]cachedKeySet // by URL
}

type cachedKeySet struct {
	body    []byte
	fetched time.Time
}

func newClient(owner context.Context, r *rules, m *issuerMetrics) *http.Client {
	inner := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: callTimeout, KeepAlive: callTimeout}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        4,
		IdleConnTimeout:     time.Minute,
	}
	if r.dial != nil {
		inner.DialContext = r.dial
	}
	t := &transport{owner: owner, inner: inner, metrics: m, keys: map[string]cachedKeySet{}}
	context.AfterFunc(owner, inner.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: callTimeout}
}

type keySetKey struct{}

// withKeySet returns a context whose requests fetch keys.
func withKeySet(ctx context.Context) context.Context {
	return context.WithValue(ctx, keySetKey{}, true)
}

var errTooLarge = errors.New("oidc: the issuer's response is too large")

// RoundTrip implements http.RoundTripper. It reads the whole response before it returns.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	isKeys := r.Context().Value(keySetKey{}) != nil
	url := r.URL.String()
	if isKeys {
		if body := t.cachedKeys(url); body != nil {
			return withBody(r, &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{}}, body), nil
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(t.owner, cancel)()
	response, err := t.inner.RoundTrip(r.WithContext(ctx))
	var body []byte
	if err == nil {
		defer response.Body.Close() // read-only
		body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	}
	if err == nil && len(body) > maxResponse {
		err = errTooLarge
	}
	if isKeys {
		ok := err == nil && response.StatusCode == http.StatusOK
		t.metrics.fetched(ok, body)
		if ok {
			t.cacheKeys(url, body)
		}
	}
	if err != nil {
		return nil, err
	}
	return withBody(r, response, body), nil
}

func withBody(r *http.Request, response *http.Response, body []byte) *http.Response {
	response.Request = r
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

func (t *transport) cachedKeys(url string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.keys[url]; time.Since(h.fetched) < keysTTL {
		return h.body
	}
	return nil
}

func (t *transport) cacheKeys(url string, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) > maxDistributedIssuers {
		clear(t.keys)
	}
	t.keys[url] = cachedKeySet{body, time.Now()}
}
