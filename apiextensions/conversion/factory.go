package conversion

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane.dev/generic/base/egress"
)

// ServiceResolver finds the URL at which a service's port can be reached, and connects
// to webhooks behind services (DialCluster) and others (DialControlPlane).
type ServiceResolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
	DialCluster(ctx context.Context, network, address string) (net.Conn, error)
	DialControlPlane(ctx context.Context, network, address string) (net.Conn, error)
}

// Factory makes converters as CRDs ask for them.
type Factory struct {
	// Resolver finds webhooks that are named by a service; nil resolves to the service's DNS name.
	Resolver     ServiceResolver
	Certificates *egress.CertificateMetrics
	Memory       *Memory
	Metrics      *Metrics
}

// Of returns the converter of a CRD.
func (f *Factory) Of(crd *apiextensionsv1.CustomResourceDefinition) (Converter, error) {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		return None{}, nil
	}
	if c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return nil, fmt.Errorf("the definition %s has no client configuration for its conversion webhook", crd.Name)
	}
	review := ""
	for _, v := range c.Webhook.ConversionReviewVersions {
		if slices.Contains([]string{"v1", "v1beta1"}, v) {
			review = v
			break
		}
	}
	if review == "" {
		return nil, fmt.Errorf("the definition %s names no known version of ConversionReview", crd.Name)
	}
	return f.webhook(crd.Name, c.Webhook.ClientConfig, review)
}

func (f *Factory) webhook(crd string, client *apiextensionsv1.WebhookClientConfig, review string) (Converter, error) {
	pool, err := roots(client.CABundle)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
	}
	var to http.RoundTripper = transport
	var target string
	switch {
	case client.URL != nil:
		transport.Proxy = http.ProxyFromEnvironment
		if f.Resolver != nil {
			transport.DialContext = f.Resolver.DialControlPlane
		}
		target = *client.URL
	case client.Service != nil:
		to, target = f.service(client.Service, transport)
	default:
		return nil, errors.New("a conversion webhook needs a URL or a service")
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	query.Set("timeout", "30s")
	u.RawQuery = query.Encode()
	checked := egress.CheckCertificates(to, f.Certificates)
	return f.Memory.Of(&Webhook{Client: &http.Client{Transport: checked, CheckRedirect: noRedirects}, URL: u.String(),
		ReviewVersion: review, CRD: crd, Metrics: f.Metrics}), nil
}

// service returns the transport and the URL for a Service. Each request is sent to the address that the resolver
// returns at that time. The webhook's certificate must be valid for the Service's DNS name.
func (f *Factory) service(s *apiextensionsv1.ServiceReference, transport *http.Transport) (http.RoundTripper, string) {
	port := int32(443)
	if s.Port != nil {
		port = *s.Port
	}
	host := s.Name + "." + s.Namespace + ".svc"
	var to http.RoundTripper = transport
	if f.Resolver != nil {
		namespace, name := s.Namespace, s.Name
		transport.DialContext = f.Resolver.DialCluster
		to = egress.ResolveRequests(transport, func() (*url.URL, error) {
			return f.Resolver.ResolveEndpoint(namespace, name, port)
		})
	}
	transport.TLSClientConfig.ServerName = host
	path := "/"
	if s.Path != nil && *s.Path != "" {
		path = *s.Path
	}
	return to, (&url.URL{Scheme: "https", Host: fmt.Sprintf("%s:%d", host, port), Path: path}).String()
}

// roots are the certificates of the bundle, the system's without one.
func roots(bundle []byte) (*x509.CertPool, error) {
	if len(bytes.TrimSpace(bundle)) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, errors.New("the CA bundle of the conversion webhook holds no certificate")
	}
	return pool, nil
}

// noRedirects rejects redirects: a webhook must not make this server call hosts that the webhook cannot reach.
func noRedirects(*http.Request, []*http.Request) error {
	return errors.New("webhooks may not redirect")
}
