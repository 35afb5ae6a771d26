package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"triplane/generic/tracing"
)

// Resolver finds where a Service can be reached, and connects to webhooks behind
// Services (DialCluster) and others (DialControlPlane).
type Resolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
	DialCluster(ctx context.Context, network, address string) (net.Conn, error)
	DialControlPlane(ctx context.Context, network, address string) (net.Conn, error)
}

// client posts reviews to one webhook.
type client struct {
	rest *rest.RESTClient
	path string
}

func newClient(c *admissionv1.WebhookClientConfig, resolver Resolver) (*client, error) {
	config := &rest.Config{
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CABundle},
		ContentConfig:   rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	}
	var path string
	switch {
	case c.Service != nil:
		path = toService(config, c.Service, resolver)
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return nil, fmt.Errorf("Unparsable URL: %w", err) //nolint:staticcheck // as kube-apiserver says it
		}
		config.Host, path = u.Scheme+"://"+u.Host, u.Path
		config.Proxy = http.ProxyFromEnvironment
		if resolver != nil {
			config.Dial = resolver.DialControlPlane
		}
	default:
		return nil, errors.New("webhook configuration must have either service or URL")
	}
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	direct := *http.DefaultClient
	if r.Client != nil {
		direct = *r.Client // which may be the one of the process
	}
	direct.CheckRedirect = noRedirects
	r.Client = &direct
	return &client{rest: r, path: path}, nil
}

// noRedirects keeps a webhook from having this server ask others, whom the webhook
// may not reach, and show what they say (CVE-2020-8561).
func noRedirects(*http.Request, []*http.Request) error {
	return errors.New("webhooks may not redirect")
}

// toService lets the client dial a service where the resolver finds it. Its
// certificate has to be good for the service's DNS name.
func toService(config *rest.Config, s *admissionv1.ServiceReference, resolver Resolver) (path string) {
	port := int32(443)
	if s.Port != nil {
		port = *s.Port
	}
	host := s.Name + "." + s.Namespace + ".svc"
	config.Host = "https://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	config.TLSClientConfig.ServerName = host
	if s.Path != nil {
		path = *s.Path
	}
	if resolver == nil {
		return path
	}
	namespace, name := s.Namespace, s.Name
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		u, err := resolver.ResolveEndpoint(namespace, name, port)
		if err != nil {
			return nil, err
		}
		return resolver.DialCluster(ctx, network, u.Host)
	}
	return path
}

// post sends a review and returns the answer's body.
func (c *client) post(ctx context.Context, body []byte) ([]byte, error) {
	ctx, span := tracing.Start(ctx, "Call admission webhook", attribute.String("path", c.path))
	defer span.End()
	header := http.Header{}
	tracing.Inject(ctx, header)
	r := c.rest.Post().AbsPath(c.path).Body(body).SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json, */*")
	for name := range header {
		r = r.SetHeader(name, header.Get(name))
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if whole := left.Truncate(time.Second); whole != left {
			left = whole + time.Second
		}
		r = r.Timeout(left)
	}
	return r.Do(ctx).Raw()
}

// close drops idle connections.
func (c *client) close() {
	if t := c.rest.Client; t != nil {
		t.CloseIdleConnections()
	}
}
