package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// serviceHost is the host of requests to a Service. The certificates of package httptest are valid for its name.
const serviceHost = "example.com:8443"

// serviceBackend is a server that a Service can resolve to. It responds with its own address.
type serviceBackend struct {
	*httptest.Server
	closed chan struct{} // receives one value per closed connection
}

func newServiceBackend(t *testing.T, http2 bool) serviceBackend {
	t.Helper()
	b := serviceBackend{httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != serviceHost {
			t.Errorf("Host %q", r.Host)
		}
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		_, _ = io.WriteString(w, local.String())
	})), make(chan struct{}, 10)}
	b.EnableHTTP2 = http2
	b.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			b.closed <- struct{}{}
		}
	}
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

func (b serviceBackend) url() *url.URL { return &url.URL{Host: b.Listener.Addr().String()} }

// serviceTransport returns a transport that trusts a server and counts its dials.
func serviceTransport(t *testing.T, trusted serviceBackend, dials *atomic.Int32) *http.Transport {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"},
		ForceAttemptHTTP2: trusted.EnableHTTP2,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return direct(ctx, network, address)
		},
	}
	transport.TLSClientConfig.RootCAs.AddCert(trusted.Certificate())
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func callService(t *testing.T, to http.RoundTripper) (string, error) {
	t.Helper()
	response, err := (&http.Client{Transport: to}).Post("https://"+serviceHost+"/x", "text/plain", strings.NewReader("x"))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.Request.URL.Host != serviceHost {
		t.Errorf("the response is for a request to %s", response.Request.URL.Host)
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// Each request reaches the address of its time, on an open connection to this address if there is one. A
// connection to another address ends with the idle timeout.
func TestResolveRequests(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			a, b := newServiceBackend(t, http2), newServiceBackend(t, http2)
			var now atomic.Pointer[url.URL]
			var dials atomic.Int32
			transport := serviceTransport(t, a, &dials)
			transport.IdleConnTimeout = 5 * time.Second // longer than the requests on a busy machine
			to := ResolveRequests(transport, func() (*url.URL, error) { return now.Load(), nil })
			for i, at := range []serviceBackend{a, a, b, b, a} {
				now.Store(at.url())
				if got, err := callService(t, to); err != nil || got != at.url().Host {
					t.Errorf("request %d: reached %q instead of %s: %v", i, got, at.url().Host, err)
				}
			}
			if n := dials.Load(); n != 2 {
				t.Errorf("%d dials", n)
			}
			select {
			case <-b.closed:
			case <-time.After(30 * time.Second):
				t.Error("the connection to the unused address remains open")
			}
		})
	}
}

// closing is a body that records its Close.
type closing struct {
	io.Reader
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func TestResolveRequestsFailure(t *testing.T) {
	unknown, wait := errors.New("no such service"), make(chan struct{})
	defer close(wait)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context //nolint:containedctx // of the request
		resolve func() (*url.URL, error)
		want    error
	}{
		"an error":            {t.Context(), func() (*url.URL, error) { return nil, unknown }, unknown},
		"an ended request":    {ended, func() (*url.URL, error) { <-wait; return nil, unknown }, context.Canceled},
		"a panic is an error": {t.Context(), func() (*url.URL, error) { panic(unknown) }, nil},
	} {
		body := &closing{Reader: strings.NewReader("x"), closed: make(chan struct{})}
		r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "https://"+serviceHost, body)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ResolveRequests(http.DefaultTransport, c.resolve).RoundTrip(r) //nolint:bodyclose // there is none
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-body.closed:
		default:
			t.Errorf("%s: the body is open", name)
		}
	}
}

func TestResolveRequestsUnwraps(t *testing.T) {
	a := newServiceBackend(t, false)
	var dials atomic.Int32
	to := ResolveRequests(serviceTransport(t, a, &dials), func() (*url.URL, error) { return a.url(), nil })
	if _, err := callService(t, to); err != nil {
		t.Fatal(err)
	}
	utilnet.CloseIdleConnectionsFor(to)
	select {
	case <-a.closed:
	case <-time.After(30 * time.Second):
		t.Error("the idle connection remains open")
	}
}
