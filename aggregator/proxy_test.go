package aggregator

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// fixedResolver resolves every Service to one host.
type fixedResolver string

func (r fixedResolver) ResolveEndpoint(_, name string, _ int32) (*url.URL, error) {
	if r == "" {
		return nil, errors.NewServiceUnavailable("no endpoints available for service " + name)
	}
	return &url.URL{Scheme: "https", Host: string(r)}, nil
}

func remoteService(status apiregistrationv1.ConditionStatus) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.ext.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "ext.example.com", Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 10, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "ns", Name: "ext", Port: ptr.To[int32](443)},
		},
		Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
			Type: apiregistrationv1.Available, Status: status,
		}}},
	}
}

const auditID = "5f0c"

var alice = &user.Info{Name: "alice", UID: "7", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"example.com/Team": {"a b", "c"}}}

// front serves a proxy to backend for alice.
func front(t *testing.T, h *proxyHandler, backend http.Handler, change func(*apiregistrationv1.APIService)) *httptest.Server {
	t.Helper()
	if backend != nil {
		b := httptest.NewUnstartedServer(backend)
		b.EnableHTTP2 = true
		b.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		b.StartTLS()
		t.Cleanup(b.Close)
		h.resolver = fixedResolver(b.Listener.Addr().String())
	}
	s := remoteService(apiregistrationv1.ConditionTrue)
	if change != nil {
		change(s)
	}
	if h.identity == nil {
		h.identity = newIdentity(IdentityHeaders{})
	}
	h.update(s, nil)
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state := &request.State{AuditIDs: [1]string{auditID}}
		state.Init(r.Context())
		defer state.Finish()
		h.ServeHTTP(w, r.WithContext(request.WithUser(state, alice)))
	}))
	t.Cleanup(f.Close)
	t.Cleanup(h.close)
	return f
}

// send returns the status, the header and the body of the response.
func send(t *testing.T, r *http.Request) (int, http.Header, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForwardedRequest(t *testing.T) {
	var got *http.Request
	var body string
	h := &proxyHandler{identity: newIdentity(IdentityHeaders{Names: []string{"X-Foo-User"}, Prefixes: []string{"X-Foo-Extra-"}})}
	f := front(t, h, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("X-Answer", "yes")
		w.Header().Set("Audit-Id", "invented")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusTeapot)
	}), nil)

	r := newRequest(t, "PUT", f.URL+"/apis/ext.example.com/v1/things/a%2Fb%0A?x=1&y=%20", "the body")
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Uid": "0",
		"X-Remote-Extra-Scopes": "all", "x-remote-other": "1", "Impersonate-User": "root", "Impersonate-Extra-A": "b",
		"X-Foo-User": "root", "X-Foo-Extra-A": "b", "X-Mine": "kept",
		"Forwarded": "for=192.0.2.1", "X-Forwarded-For": "192.0.2.1",
	} {
		r.Header.Set(name, value)
	}
	code, header, _ := send(t, r)
	if code != http.StatusTeapot || header.Get("X-Answer") != "yes" {
		t.Errorf("answer %d %v", code, header)
	}
	if header.Get("Audit-Id") != "" || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the external server has said what only this one may: %v", header)
	}
	if got.URL.EscapedPath() != "/apis/ext.example.com/v1/things/a%2Fb%0A" || got.URL.RawQuery != "x=1&y=%20" || got.Method != http.MethodPut || body != "the body" {
		t.Errorf("request %s %s, body %q", got.Method, got.URL, body)
	}
	want := map[string]string{
		"X-Remote-User": "[alice]", "X-Remote-Uid": "[7]", "X-Remote-Group": "[dev ops]",
		"X-Remote-Extra-Example.com%2fteam": "[a b c]", "X-Mine": "[kept]",
		"Forwarded": "[for=192.0.2.1]", "X-Forwarded-For": "[192.0.2.1, 127.0.0.1]",
		"X-Forwarded-Uri": "[/apis/ext.example.com/v1/things/a%2Fb%0A]",
	}
	for name, values := range want {
		if have := fmt.Sprint(got.Header[http.CanonicalHeaderKey(name)]); have != values {
			t.Errorf("%s: %s, want %s; all: %v", name, have, values, got.Header)
		}
	}
	for name := range got.Header {
		_, expected := want[name]
		if lower := strings.ToLower(name); !expected && (strings.HasPrefix(lower, "x-remote-") || strings.HasPrefix(lower, "x-foo-") ||
			strings.HasPrefix(lower, "impersonate-") || lower == "authorization") {
			t.Errorf("%s passed: %v", name, got.Header[name])
		}
	}
}

// This server's headers are still set after informational responses.
func TestInformationalAnswers(t *testing.T) {
	h := &proxyHandler{}
	front(t, h, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("X-Answer", "yes")
	}), nil)
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Audit-Id", auditID)
		h.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), alice)))
	}))
	defer f.Close()
	code, header, _ := send(t, newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1/things", ""))
	if code != http.StatusOK || header.Get("Audit-Id") != auditID || header.Get("X-Answer") != "yes" || header.Get("Link") != "" {
		t.Errorf("%d %v", code, header)
	}
}

// An external server continues the trace of a sampled request.
func TestForwardedTrace(t *testing.T) {
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(t.Context(), "request")
	defer span.End()
	got := make(chan string, 1)
	h := &proxyHandler{}
	front(t, h, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Traceparent") }), nil)
	r := newRequest(t, "GET", "/apis/ext.example.com/v1/things", "")
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithUser(ctx, alice)))
	if parent, id := <-got, span.SpanContext().TraceID().String(); !strings.Contains(parent, id) {
		t.Errorf("traceparent %q is not of the trace %s", parent, id)
	}
}

func TestProxyRefuses(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	tests := []struct {
		name    string
		backend http.Handler
		handler *proxyHandler
		change  func(*apiregistrationv1.APIService)
		code    int
		body    string
	}{
		{"available", ok, &proxyHandler{}, nil, 200, "ok"},
		{"not available", ok, &proxyHandler{}, func(s *apiregistrationv1.APIService) {
			s.Status.Conditions[0].Status = apiregistrationv1.ConditionFalse
		}, 503, "service unavailable\n"},
		{"never checked", ok, &proxyHandler{}, func(s *apiregistrationv1.APIService) { s.Status.Conditions = nil }, 503, "service unavailable\n"},
		{"no endpoints", nil, &proxyHandler{resolver: fixedResolver("")}, nil, 503, "service unavailable\n"},
		{"malformed authority", ok, &proxyHandler{}, func(s *apiregistrationv1.APIService) {
			s.Spec.InsecureSkipTLSVerify, s.Spec.CABundle = false, []byte("no PEM")
		}, 500, "unable to load root certificates: unable to parse bytes as PEM block\n"},
		{"unknown authority", ok, &proxyHandler{}, func(s *apiregistrationv1.APIService) {
			s.Spec.InsecureSkipTLSVerify = false
		}, 503, "error trying to reach service: tls: failed to verify certificate: x509: "},
		{"redirect refused", http.RedirectHandler("https://elsewhere", http.StatusFound), &proxyHandler{rejectRedirects: true}, nil, 502, redirected},
		{"redirect allowed", http.RedirectHandler("https://elsewhere", http.StatusFound), &proxyHandler{}, nil, http.StatusFound, ""},
		{"not modified is no redirect", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotModified)
		}), &proxyHandler{rejectRedirects: true}, nil, 304, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := front(t, tt.handler, tt.backend, tt.change)
			code, header, body := send(t, newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1", ""))
			if code != tt.code || !strings.HasPrefix(body, tt.body) {
				t.Errorf("%d %q, want %d %q", code, body, tt.code, tt.body)
			}
			if got := header.Get("Content-Length"); tt.body == redirected && got != strconv.Itoa(len(redirected)) {
				t.Errorf("length of the refusal: %q", got)
			}
		})
	}
}

// TestDeadline checks that the filter that set the deadline responds after it.
func TestDeadline(t *testing.T) {
	h := &proxyHandler{}
	front(t, h, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(50*time.Millisecond))
	defer cancel()
	w := httptest.NewRecorder()
	w.Code = 0
	h.ServeHTTP(w, newRequest(t, "GET", "/apis/ext.example.com/v1/things", "").WithContext(request.WithUser(ctx, alice)))
	if w.Code != 0 || w.Body.Len() > 0 {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// TestAuthority connects to a server by the name of its Service, with the front-proxy certificate.
func TestAuthority(t *testing.T) {
	var shown int
	b := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shown = len(r.TLS.PeerCertificates)
	}))
	b.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	b.StartTLS()
	defer b.Close()
	s := remoteService(apiregistrationv1.ConditionTrue)
	s.Spec.InsecureSkipTLSVerify = false
	s.Spec.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
	transport, err := newTransport(s, func() (*tls.Certificate, error) { return &b.TLS.Certificates[0], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	_, err = transport.RoundTrip(newRequest(t, http.MethodGet, b.URL, "")) //nolint:bodyclose // there is no answer
	var wrongName x509.HostnameError
	if err == nil || !strings.Contains(err.Error(), "ext.ns.svc") {
		t.Errorf("a certificate of another name: %v (%T)", err, wrongName)
	}
	s.Spec.Service.Name, s.Spec.Service.Namespace = "x", "y"
	transport.TLSClientConfig.ServerName = "example.com" // what httptest's certificate upToDate
	resp, err := transport.RoundTrip(newRequest(t, "GET", b.URL, ""))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if shown == 0 {
		t.Error("no client certificate was shown")
	}
}

// TestWatchStreams receives events as they are sent, and checks that the backend's request ends when the client
// disconnects.
func TestWatchStreams(t *testing.T) {
	ended := make(chan struct{})
	next := make(chan string)
	f := front(t, &proxyHandler{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for {
			select {
			case <-r.Context().Done():
				return
			case event := <-next:
				io.WriteString(w, event+"\n")
				w.(http.Flusher).Flush()
			}
		}
	}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { next <- "one" }()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1/things?watch=1", "").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"one", "two", "three"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
		if want == "three" {
			break
		}
		next <- map[string]string{"one": "two", "two": "three"}[want]
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the backend's request goes on")
	}
}

// echo accepts an upgrade and then sends everything twice.
func echo(t *testing.T, got *http.Header) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*got = r.Header.Clone()
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(conn, line+line)
		}
	})
}

func TestUpgrade(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, protocol := range []string{"websocket", "SPDY/3.1"} {
		t.Run(protocol, func(t *testing.T) {
			var header http.Header
			h := &proxyHandler{rejectRedirects: true}
			f := front(t, h, echo(t, &header), nil)
			r := newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1/things/a/exec?command=x", "")
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", protocol)
			r.Header.Set("X-Remote-User", "root")
			r.Header.Set("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io")
			transport := &http.Transport{}
			resp, err := transport.RoundTrip(r) //nolint:bodyclose // the body is conn, which is closed
			if err != nil {
				t.Fatal(err)
			}
			conn, ok := resp.Body.(io.ReadWriteCloser)
			if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
				t.Fatalf("answer %v", resp)
			}
			defer conn.Close()
			lines := bufio.NewReader(conn)
			for _, want := range []string{"a\n", "b\n"} {
				io.WriteString(conn, want)
				for range 2 {
					if line, err := lines.ReadString('\n'); line != want {
						t.Fatalf("got %q, %v", line, err)
					}
				}
			}
			if got := header["X-Remote-User"]; len(got) != 1 || got[0] != "alice" {
				t.Errorf("user %v", got)
			}
			if got := header.Get("Audit-Id"); got != auditID {
				t.Errorf("audit id %q", got)
			}
			if got := header.Get("Sec-Websocket-Protocol"); got != "v5.channel.k8s.io" {
				t.Errorf("protocols %q", got)
			}
			h.close() // the server stops: nobody waits for the client to leave
			if line, err := lines.ReadString('\n'); err == nil {
				t.Errorf("still open: %q", line)
			}
		})
	}
}

func TestUpgradeRefused(t *testing.T) {
	f := front(t, &proxyHandler{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such thing", http.StatusForbidden)
	}), nil)
	r := newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1/things/a/exec", "")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	if code, _, body := send(t, r); code != http.StatusForbidden || !strings.Contains(body, "no such thing") {
		t.Errorf("%d %q", code, body)
	}
}

// A server that ignores the upgrade is not reported as unreachable.
func TestUpgradeIgnored(t *testing.T) {
	f := front(t, &proxyHandler{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }), nil)
	r := newRequest(t, "GET", f.URL+"/apis/ext.example.com/v1/things/a/exec", "")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	if code, _, body := send(t, r); code != http.StatusServiceUnavailable || body != "invalid upgrade response: status code 200\n" {
		t.Errorf("%d %q", code, body)
	}
}

func TestTransportIsKept(t *testing.T) {
	h := &proxyHandler{}
	s := remoteService(apiregistrationv1.ConditionTrue)
	h.update(s, nil)
	first := h.target.Load()
	same := s.DeepCopy()
	same.Status.Conditions[0].Status = apiregistrationv1.ConditionFalse
	h.update(same, nil)
	if second := h.target.Load(); second.plain != first.plain || second.available {
		t.Errorf("a change of the status: %+v", second)
	}
	other := s.DeepCopy()
	other.Spec.Service.Name = "other"
	h.update(other, nil)
	if third := h.target.Load(); third.plain == first.plain || third.plain.TLSClientConfig.ServerName != "other.ns.svc" {
		t.Errorf("another Service: %+v", third)
	}
}
