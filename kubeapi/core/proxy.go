package core

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/proxy"

	"triplane/generic/registry/rest"
)

// proxyTo passes a request on to a pod, a node or an endpoint. What is behind a
// cluster's addresses proves itself by the network alone.
func proxyTo(scheme, host, port, path string, responder rest.Responder) http.Handler {
	if scheme == "" {
		scheme = "http"
	}
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	target := &url.URL{Scheme: scheme, Host: host, Path: path}
	h := proxy.NewUpgradeAwareHandler(target, transport, false, false, proxyErrors{responder})
	h.UseLocationHost = true
	return h
}

// proxyErrors tells what went wrong on the way to the target.
type proxyErrors struct{ rest.Responder }

// Error implements proxy.ErrorResponder.
func (p proxyErrors) Error(_ http.ResponseWriter, _ *http.Request, err error) { p.Responder.Error(err) }
