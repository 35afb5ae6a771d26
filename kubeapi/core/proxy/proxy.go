package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/proxy"

	"triplane/generic/registry/rest"
	"triplane/kubeapi/kubelet"
)

// Methods are the methods that a proxy passes on.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// Dial connects to the cluster's network; nil is directly.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// To passes a request on to a pod, a node or an endpoint. What is behind a
// cluster's addresses proves itself by the network alone.
func To(dial Dial, scheme, host, port, path string, responder rest.Responder) http.Handler {
	if scheme == "" {
		scheme = "http"
	}
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	target := &url.URL{Scheme: scheme, Host: host, Path: path}
	h := proxy.NewUpgradeAwareHandler(target, transport, false, false, errorResponder{responder})
	h.UseLocationHost = true
	return h
}

// ToKubelet passes a request on to a node's kubelet, which is shown the server's
// client certificate.
func ToKubelet(c *kubelet.Client, host, path string, responder rest.Responder) http.Handler {
	target := &url.URL{Scheme: "https", Host: host, Path: path}
	h := proxy.NewUpgradeAwareHandler(target, c.Transport(), true, false, errorResponder{responder})
	h.UseLocationHost, h.MaxBytesPerSec = true, c.MaxBytesPerSecond()
	return h
}

// CheckHost is Check for a host that may be a name: all its addresses have to pass.
func CheckHost(ctx context.Context, host string) error {
	if net.ParseIP(host) != nil {
		return Check(host)
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	for _, a := range addresses {
		if err := Check(a); err != nil {
			return err
		}
	}
	return nil
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
