package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/proxy"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/kubelet"
)

// Resource returns the subresource "proxy", whose options have the rest of the path.
func Resource(options func() runtime.Object,
	connect func(context.Context, rest.ConnectRequest) (http.Handler, error)) *rest.Resource {
	return &rest.Resource{
		New: options, NewOptions: options, Connect: connect, ConnectPath: "path",
		ConnectMethods: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"},
	}
}

// Dial connects to the cluster's network; nil is directly.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Target is where requests are proxied to.
type Target struct {
	// Scheme is http by default, at kubelets always https.
	Scheme string
	// Host is a host name or an IP address.
	Host string
	// Port is a number, "" the port of the scheme.
	Port string
	Path string
}

// To passes a request on to a pod, a node or an endpoint at an address, whose links
// and redirects to itself lead through the proxy then, and which web sites may not
// read. What is behind a cluster's addresses proves itself by the network alone. A port
// that is no number is a bad request.
func To(dial Dial, t Target, responder rest.Responder) (http.Handler, error) {
	host := t.Host
	switch {
	case t.Port != "":
		if _, err := strconv.ParseUint(t.Port, 10, 16); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid port %q", request.Shortened(t.Port)))
		}
		host = net.JoinHostPort(host, t.Port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}
	target := &url.URL{Scheme: cmp.Or(t.Scheme, "http"), Host: host, Path: t.Path}
	return proxied(proxy.NewUpgradeAwareHandler(target, transport, true, false, errorResponder{responder})), nil
}

// proxied marks responses as those of what is behind the proxy.
func proxied(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.MarkProxied(r.Context())
		h.ServeHTTP(w, r)
	})
}

// ToKubelet passes a request on to a node's kubelet, which is shown the server's
// client certificate. ip is what was found to be the address of its host.
func ToKubelet(c *kubelet.Client, t Target, ip string, responder rest.Responder) http.Handler {
	target := &url.URL{Scheme: "https", Host: net.JoinHostPort(t.Host, t.Port), Path: t.Path}
	transport := c.Transport()
	if t.Host != ip {
		own := transport.Clone()
		own.DialContext, own.DisableKeepAlives = Pinned(own.DialContext, ip), true
		transport = own
	}
	h := proxy.NewUpgradeAwareHandler(target, transport, true, false, errorResponder{responder})
	h.MaxBytesPerSec = c.MaxBytesPerSecond()
	return proxied(h)
}

// Resolve is Check for a host that may be a name: all its addresses have to pass. It
// returns the one to connect to: whoever owns the name may give it another address in
// the next moment (CVE-2020-8562).
func Resolve(ctx context.Context, host string) (ip string, err error) {
	if net.ParseIP(host) != nil {
		return host, Check(host)
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", apierrors.NewBadRequest(err.Error())
	}
	for _, a := range addresses {
		if err := Check(a); err != nil {
			return "", err
		}
	}
	return addresses[0], nil // an error says that there are none
}

// Pinned connects to an IP address, whatever the name.
func Pinned(dial Dial, ip string) Dial {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, net.JoinHostPort(ip, port))
	}
}

// errorResponder answers with what went wrong on the way to the target.
type errorResponder struct{ rest.Responder }

// Error implements proxy.ErrorResponder.
func (p errorResponder) Error(_ http.ResponseWriter, _ *http.Request, err error) {
	p.Responder.Error(err)
}

// Check refuses addresses that would lead back to this machine.
func Check(text string) error {
	ip := net.ParseIP(text)
	if ip == nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() {
		return apierrors.NewBadRequest("address not allowed")
	}
	return nil
}
