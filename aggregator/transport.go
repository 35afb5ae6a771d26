package aggregator

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/base/egress"
)

// ClientCertificate returns the front-proxy client certificate for external API servers; nil if none is
// configured. It is called at each handshake, so that renewed certificates are used.
type ClientCertificate func() (*tls.Certificate, error)

// newTransport returns the transport to the external API server of an APIService. dial connects to the cluster;
// nil connects directly.
func newTransport(s *apiregistrationv1.APIService, cert ClientCertificate, dial egress.Dial) (*http.Transport, error) {
	config := &tls.Config{
		InsecureSkipVerify: s.Spec.InsecureSkipTLSVerify,
		ServerName:         s.Spec.Service.Name + "." + s.Spec.Service.Namespace + ".svc",
	}
	if len(s.Spec.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(s.Spec.CABundle) {
			return nil, errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	return transportOf(config, cert, dial), nil
}

// transportOf returns a transport to an API server, with the client certificate if there is one.
func transportOf(config *tls.Config, cert ClientCertificate, dial egress.Dial) *http.Transport {
	if dial == nil {
		dial = (*egress.Selector)(nil).DialCluster
	}
	config.MinVersion = tls.VersionTLS12
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if cert == nil {
			return &tls.Certificate{}, nil
		}
		return cert()
	}
	return &http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		DialContext:         dial,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
		// Watches may be idle for a long time; pings detect dead connections.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}
