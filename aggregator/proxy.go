package aggregator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/aggregator/conntrack"
	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/base/user"
)

// target is the destination of an APIService's requests. It is immutable; a changed APIService has a new one.
type target struct {
	service   *apiregistrationv1.APIService
	available bool
	err       error // the transport cannot be created
	plain     *http.Transport
	upgrade   *http.Transport
	upgraded  *conntrack.Set // of the upgrade transport
}

// redirected is the response instead of a redirect. An external server must not redirect credentials that are
// meant for it.
const redirected = "the backend attempted to redirect this request, which is not permitted"

// proxyHandler serves the paths of one remote APIService. It is safe for concurrent use.
type proxyHandler struct {
	resolver        ServiceResolver
	dial            egress.Dial
	identity        *identity
	certificates    *egress.CertificateMetrics
	rejectRedirects bool
	// mark modifies outgoing requests, and answered is called with the status of the response; both may be nil.
	mark     func(out *http.Request)
	answered func(r *http.Request, code int)
	target   atomic.Pointer[target]
	traffic  traffic
}

// update sets the current APIService. It must not be called concurrently.
func (h *proxyHandler) update(s *apiregistrationv1.APIService, cert ClientCertificate) {
	next := &target{service: s, available: isAvailable(s)}
	old := h.target.Load()
	if old != nil && old.err == nil && sameTransport(old.service, s) {
		next.plain, next.upgrade, next.upgraded = old.plain, old.upgrade, old.upgraded
	} else {
		next.connect(func() (*http.Transport, error) { return newTransport(s, cert, h.dial) })
		if old != nil {
			old.close()
		}
	}
	h.target.Store(next)
}

// connect creates the transports.
func (t *target) connect(make func() (*http.Transport, error)) {
	if t.plain, t.err = make(); t.err != nil {
		return
	}
	if t.upgrade, t.err = make(); t.err != nil {
		return
	}
	t.upgraded = &conntrack.Set{}
	t.upgrade.ForceAttemptHTTP2 = false // HTTP/2 does not support upgrades
	t.upgrade.DialContext = t.upgraded.Dial(t.upgrade.DialContext)
}

// close closes upgraded and idle connections; requests in flight complete.
func (h *proxyHandler) close() {
	if t := h.target.Load(); t != nil {
		t.close()
	}
}

func (t *target) close() {
	if t.err == nil {
		t.plain.CloseIdleConnections()
		t.upgrade.CloseIdleConnections()
		t.upgraded.Close()
	}
}

func sameTransport(a, b *apiregistrationv1.APIService) bool {
	return a.Spec.InsecureSkipTLSVerify == b.Spec.InsecureSkipTLSVerify &&
		string(a.Spec.CABundle) == string(b.Spec.CABundle) &&
		a.Spec.Service.Name == b.Spec.Service.Name && a.Spec.Service.Namespace == b.Spec.Service.Namespace
}

func (h *proxyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := h.target.Load()
	if !t.available {
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	u := request.UserFrom(r.Context())
	if u == nil {
		http.Error(w, "missing user", http.StatusInternalServerError)
		return
	}
	if t.err != nil {
		http.Error(w, t.err.Error(), http.StatusInternalServerError)
		return
	}
	s := t.service.Spec.Service
	host, err := h.resolver.ResolveEndpoint(s.Namespace, s.Name, port(t.service))
	if err != nil {
		klog.ErrorS(err, "Failed to resolve the service of APIService", "apiService", t.service.Name)
		http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		return
	}
	request.MarkProxied(r.Context())
	if httpstream.IsUpgradeRequest(r) {
		h.upgrade(w, r, t, host, u)
		return
	}
	h.forward(w, r, t, host, u)
}

// forward proxies a plain request, streaming the response.
func (h *proxyHandler) forward(w http.ResponseWriter, r *http.Request, t *target, host *url.URL, u *user.Info) {
	sent := time.Now()
	p := &httputil.ReverseProxy{
		Transport:     egress.CheckCertificates(t.plain, h.certificates),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(pr *httputil.ProxyRequest) {
			keepForwarded(pr)
			// An unescaped path may contain characters that are invalid in headers.
			pr.Out.Header.Set("X-Forwarded-Uri", r.URL.EscapedPath())
			tracing.Inject(r.Context(), pr.Out.Header)
			h.prepare(pr.Out, host, u)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			h.note(r, http.StatusServiceUnavailable)
			h.traffic.answered(time.Since(sent), r.Context().Err() == nil)
			proxyError(w, r, fmt.Errorf("error trying to reach service: %w", err))
		},
	}
	p.ModifyResponse = func(resp *http.Response) error {
		h.note(r, resp.StatusCode)
		h.traffic.answered(time.Since(sent), resp.StatusCode >= http.StatusInternalServerError)
		// A resource that the remote server does not serve must not be counted.
		if resp.StatusCode < http.StatusBadRequest {
			request.MarkServed(r.Context())
		}
		dropOwnHeaders(resp.Header)
		if h.rejectRedirects {
			return rejectRedirect(resp)
		}
		return nil
	}
	p.ServeHTTP(request.KeepHeaders(w), r)
}

// keepForwarded appends this server to the Forwarded headers of a request.
func keepForwarded(pr *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
		if values := pr.In.Header[name]; len(values) > 0 {
			pr.Out.Header[name] = values
		}
	}
	pr.SetXForwarded()
}

// prepare sets URL and headers of a request to the external server on behalf of the user.
func (h *proxyHandler) prepare(out *http.Request, host *url.URL, u *user.Info) {
	pointTo(out, host)
	h.identity.setUser(out, u)
	if state := request.StateFrom(out.Context()); state != nil && state.AuditID() != "" {
		out.Header.Set("Audit-Id", state.AuditID())
	}
	if h.mark != nil {
		h.mark(out)
	}
}

func (h *proxyHandler) note(r *http.Request, code int) {
	if h.answered != nil {
		h.answered(r, code)
	}
}

// dropOwnHeaders removes headers that only this server may set: those of CORS and the audit ID.
func dropOwnHeaders(h http.Header) {
	for _, name := range []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
		"Access-Control-Allow-Origin",
		"Audit-Id",
	} {
		h.Del(name)
	}
}

// rejectRedirect replaces a redirect by an error response.
func rejectRedirect(resp *http.Response) error {
	if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.Header.Get("Location") == "" {
		return nil
	}
	resp.Body.Close()
	resp.StatusCode, resp.Status = http.StatusBadGateway, ""
	resp.Header = http.Header{"Content-Length": {strconv.Itoa(len(redirected))}}
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(redirected)), int64(len(redirected))
	return nil
}

// upgrade proxies an upgrade request, which takes over the connection.
func (h *proxyHandler) upgrade(w http.ResponseWriter, r *http.Request, t *target, host *url.URL, u *user.Info) {
	location := *r.URL
	location.Scheme, location.Host = host.Scheme, host.Host
	out := r.Clone(r.Context())
	h.prepare(out, host, u)
	h.note(r, http.StatusSwitchingProtocols)
	p := proxy.NewUpgradeAwareHandler(&location, t.upgrade, true, true, errorResponder{})
	p.UpgradeTransport = proxy.NewUpgradeRequestRoundTripper(t.upgrade, passThrough{})
	p.RejectForwardingRedirects = h.rejectRedirects
	p.ServeHTTP(w, out)
}

// passThrough does not change requests, which are prepared already.
type passThrough struct{}

func (passThrough) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{Request: r}, nil
}

// pointTo sets the host of a request; the path remains.
func pointTo(r *http.Request, host *url.URL) {
	r.URL.Scheme, r.URL.Host, r.Host = host.Scheme, host.Host, host.Host
}

// proxyError responds if proxying failed. If the request's deadline has passed, the filter that set it responds
// instead.
func proxyError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		return
	}
	if r.Context().Err() == nil {
		klog.V(2).InfoS("Failed to proxy to external API server", "path", r.URL.Path, "err", err)
	}
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

type errorResponder struct{}

func (errorResponder) Error(w http.ResponseWriter, r *http.Request, err error) { proxyError(w, r, err) }
