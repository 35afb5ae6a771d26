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
	admissionapi "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/guard/webhook"
)

// Resolver resolves Services to addresses. It also dials webhooks: DialCluster those behind Services,
// DialControlPlane those with a URL.
type Resolver interface {
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
	DialCluster(ctx context.Context, network, address string) (net.Conn, error)
	DialControlPlane(ctx context.Context, network, address string) (net.Conn, error)
}

// client sends AdmissionReviews to one webhook.
type client struct {
	rest *rest.RESTClient
	path string
}

func newClient(c *admissionv1.WebhookClientConfig, o *Config) (*client, error) {
	codecs, err := reviews()
	if err != nil {
		return nil, err
	}
	// The response is decoded as JSON, whatever its Content-Type.
	codec := serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{
		Serializer: codecs.LegacyCodec(admissionapi.SchemeGroupVersion, admissionv1beta1.SchemeGroupVersion),
	})
	config := &rest.Config{
		QPS:             -1,
		UserAgent:       webhook.UserAgent,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CABundle},
		ContentConfig:   rest.ContentConfig{NegotiatedSerializer: codec},
	}
	var path string
	switch {
	case c.Service != nil:
		path = toService(config, c.Service, o.Resolver)
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return nil, fmt.Errorf("Unparsable URL: %w", err) //nolint:staticcheck // wording of kube-apiserver
		}
		config.Host, path = u.Scheme+"://"+u.Host, u.Path
		config.Proxy = http.ProxyFromEnvironment
		if o.Resolver != nil {
			config.Dial = o.Resolver.DialControlPlane
		}
	default:
		return nil, errors.New("webhook configuration must have either service or URL")
	}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return bounded{egress.CheckCertificates(rt, o.Metrics.Certificates())}
	})
	if err := o.Credentials.authenticate(config, hostPort(config.Host)); err != nil {
		return nil, err
	}
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	direct := *http.DefaultClient
	if r.Client != nil {
		direct = *r.Client // a copy: it may be http.DefaultClient
	}
	direct.CheckRedirect = noRedirects
	r.Client = &direct
	return &client{rest: r, path: path}, nil
}

// hostPort returns the host of a URL with its port, which defaults to 443.
func hostPort(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return ""
	case u.Port() == "":
		return net.JoinHostPort(u.Hostname(), "443") // webhooks must use HTTPS
	}
	return u.Host
}

// noRedirects rejects redirects. With them a webhook could make the server send requests to addresses that the
// webhook cannot reach, and read the responses (CVE-2020-8561).
func noRedirects(*http.Request, []*http.Request) error {
	return errors.New("webhooks may not redirect")
}

// toService configures the client to send each request to the address that the resolver returns for a Service at
// that time. The webhook's certificate must be valid for the Service's DNS name.
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
	config.Dial = resolver.DialCluster
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // Services are reached directly
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return egress.ResolveRequests(rt, func() (*url.URL, error) {
			return resolver.ResolveEndpoint(namespace, name, port)
		})
	})
	return path
}

// post sends a review and decodes the response into review.
func (c *client) post(ctx context.Context, body []byte, review runtime.Object) error {
	ctx, span := tracing.Start(ctx, "Call admission webhook", attribute.String("path", c.path))
	defer span.End()
	header := http.Header{}
	tracing.Inject(ctx, header)
	r := c.rest.Post().AbsPath(c.path).Body(body).SetHeader("Content-Type", "application/json").SetHeader("Accept",
		"application/json, */*")
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
	return r.Do(ctx).Into(review)
}

// maxResponse limits the size of a webhook's response in bytes. Patches of storable objects are smaller.
const maxResponse = 16 << 20

// bounded is a RoundTripper that fails responses longer than maxResponse.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

// WrappedRoundTripper gives callers access to the transport, to close its idle connections.
func (t bounded) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// reviews returns codecs for all versions of AdmissionReview.
func reviews() (serializer.CodecFactory, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionapi.AddToScheme, admissionv1beta1.AddToScheme} {
		if err := add(s); err != nil {
			return serializer.CodecFactory{}, err
		}
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"}) // Status
	return serializer.NewCodecFactory(s), nil
}

// close closes idle connections.
func (c *client) close() {
	if t := c.rest.Client; t != nil {
		utilnet.CloseIdleConnectionsFor(t.Transport)
	}
}
