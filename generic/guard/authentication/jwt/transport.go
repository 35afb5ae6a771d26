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
	// maxAnswer bounds what is read of an issuer's answer, in bytes.
	maxAnswer = 1 << 20
	// keysHold is how long fetched keys are answered again: tokens with invented
	// key ids, which anybody can send, do not become requests to the issuer.
	keysHold = time.Second
)

// transport is how an issuer is reached: bounded by the life of the owner, in the
// size of answers, and in how often keys are fetched.
type transport struct {
	owner   context.Context //nolint:containedctx // requests end with it
	inner   *http.Transport
	metrics *issuerMetrics

	mu   sync.Mutex
	keys map[string]heldAnswer // by URL
}

type heldAnswer struct {
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
	t := &transport{owner: owner, inner: inner, metrics: m, keys: map[string]heldAnswer{}}
	context.AfterFunc(owner, inner.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: callTimeout}
}

type keySetKey struct{}

// withKeySet marks a context whose requests fetch keys.
func withKeySet(ctx context.Context) context.Context {
	return context.WithValue(ctx, keySetKey{}, true)
}

var errTooLarge = errors.New("oidc: the issuer's answer is too large")

// RoundTrip implements http.RoundTripper. The answer has been read when it returns.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	isKeys := r.Context().Value(keySetKey{}) != nil
	url := r.URL.String()
	if isKeys {
		if body := t.held(url); body != nil {
			return answer(r, &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Header: http.Header{}}, body), nil
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(t.owner, cancel)()
	response, err := t.inner.RoundTrip(r.WithContext(ctx))
	var body []byte
	if err == nil {
		defer response.Body.Close() // it was only read
		body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	}
	if err == nil && len(body) > maxAnswer {
		err = errTooLarge
	}
	if isKeys {
		ok := err == nil && response.StatusCode == http.StatusOK
		t.metrics.fetched(ok, body)
		if ok {
			t.hold(url, body)
		}
	}
	if err != nil {
		return nil, err
	}
	return answer(r, response, body), nil
}

func answer(r *http.Request, response *http.Response, body []byte) *http.Response {
	response.Request = r
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

func (t *transport) held(url string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.keys[url]; time.Since(h.fetched) < keysHold {
		return h.body
	}
	return nil
}

func (t *transport) hold(url string, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) > maxDistributedIssuers {
		clear(t.keys)
	}
	t.keys[url] = heldAnswer{body, time.Now()}
}
