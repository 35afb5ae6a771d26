package aggregator

import (
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane/generic/authentication/user"
	"triplane/generic/request"
)

// target is where an APIService's requests go: immutable, replaced as the
// APIService changes.
type target struct {
	service   *apiregistrationv1.APIService
	available bool
	err       error // the transport cannot be made
	plain     *http.Transport
	upgrade   *http.Transport
}

// errRedirect refuses what an external server may not do: send clients
// elsewhere with credentials meant for it.
var errRedirect = errors.New("the backend attempted to redirect this request, which is not permitted")

// proxyHandler answers the paths of one remote APIService. It is safe for
// concurrent use.
type proxyHandler struct {
	resolver        ServiceResolver
	rejectRedirects bool
	target          atomic.Pointer[target]
}

// update points the handler to an APIService as it is now.
func (h *proxyHandler) update(s *apiregistrationv1.APIService, cert ClientCertificate) {
	next := &target{service: s, available: isAvailable(s)}
	old := h.target.Load()
	if old != nil && old.err == nil && sameTransport(old.service, s) {
		next.plain, next.upgrade = old.plain, old.upgrade
	} else {
		if next.plain, next.err = newTransport(s, cert, false); next.err == nil {
			next.upgrade, next.err = newTransport(s, cert, true)
		}
		if old != nil {
			old.close()
		}
	}
	h.target.Store(next)
}

// close lets go of idle connections.
func (h *proxyHandler) close() {
	if t := h.target.Load(); t != nil {
		t.close()
	}
}

func (t *target) close() {
	if t.plain != nil {
		t.plain.CloseIdleConnections()
	}
	if t.upgrade != nil {
		t.upgrade.CloseIdleConnections()
	}
}

func sameTransport(a, b *apiregistrationv1.APIService) bool {
	return a.Spec.InsecureSkipTLSVerify == b.Spec.InsecureSkipTLSVerify && string(a.Spec.CABundle) == string(b.Spec.CABundle) &&
		a.Spec.Service.Name == b.Spec.Service.Name && a.Spec.Service.Namespace == b.Spec.Service.Namespace
}

func (h *proxyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := h.target.Load()
	if !t.available {
		http.Error(w, errUnavailable.Error(), http.StatusServiceUnavailable)
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
	host, err := h.resolver.ResolveEndpoint(s.Namespace, s.Name, *s.Port)
	if err != nil {
		klog.ErrorS(err, "Cannot resolve the service of an APIService", "apiService", t.service.Name)
		http.Error(w, errUnavailable.Error(), http.StatusServiceUnavailable)
		return
	}
	if httpstream.IsUpgradeRequest(r) {
		h.upgrade(w, r, t, host, u)
		return
	}
	h.forward(w, r, t, host, u)
}

// forward proxies a plain request, streaming the answer.
func (h *proxyHandler) forward(w http.ResponseWriter, r *http.Request, t *target, host *url.URL, u *user.Info) {
	p := &httputil.ReverseProxy{
		Transport:     t.plain,
		FlushInterval: -1,
		Rewrite: func(pr *httputil.ProxyRequest) {
			outgoing(pr.Out, host, u)
			pr.Out.Header["X-Forwarded-For"] = pr.In.Header["X-Forwarded-For"]
			pr.SetXForwarded()
			pr.Out.Header.Set("X-Forwarded-Uri", r.URL.Path)
		},
		ErrorHandler: proxyError,
	}
	if h.rejectRedirects {
		p.ModifyResponse = func(resp *http.Response) error {
			if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified {
				return errRedirect
			}
			return nil
		}
	}
	p.ServeHTTP(w, r)
}

// upgrade proxies a request that takes over the connection.
func (h *proxyHandler) upgrade(w http.ResponseWriter, r *http.Request, t *target, host *url.URL, u *user.Info) {
	location := *r.URL
	location.Scheme, location.Host = host.Scheme, host.Host
	out := r.Clone(r.Context())
	outgoing(out, host, u)
	rt := proxy.NewUpgradeRequestRoundTripper(t.upgrade, passThrough{})
	p := proxy.NewUpgradeAwareHandler(&location, t.upgrade, true, true, errorResponder{})
	p.UpgradeTransport = rt
	p.ServeHTTP(w, out)
}

// passThrough leaves requests alone: outgoing has prepared them.
type passThrough struct{}

func (passThrough) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{Request: r}, nil
}

// outgoing makes of a request the one that the external server gets: same path,
// and the user in headers instead of the client's credentials.
func outgoing(out *http.Request, host *url.URL, u *user.Info) {
	out.URL.Scheme, out.URL.Host, out.Host = host.Scheme, host.Host, host.Host
	for name := range out.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-remote-") {
			delete(out.Header, name)
		}
	}
	out.Header.Del("Authorization")
	out.Header.Set("X-Remote-User", u.Name)
	if u.UID != "" {
		out.Header.Set("X-Remote-Uid", u.UID)
	}
	for _, g := range u.Groups {
		out.Header.Add("X-Remote-Group", g)
	}
	for key, values := range u.Extra {
		for _, v := range values {
			out.Header.Add("X-Remote-Extra-"+url.QueryEscape(key), v)
		}
	}
}

func proxyError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		klog.V(2).InfoS("Proxying to an external API server failed", "path", r.URL.Path, "err", err)
	}
	if errors.Is(err, errRedirect) {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	http.Error(w, "error trying to reach service: "+err.Error(), http.StatusServiceUnavailable)
}

type errorResponder struct{}

func (errorResponder) Error(w http.ResponseWriter, r *http.Request, err error) { proxyError(w, r, err) }
