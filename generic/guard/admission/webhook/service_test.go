package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/egress"
)

// movingService resolves each Service to the host of the moment.
type movingService struct {
	*egress.Selector
	host  atomic.Pointer[string]
	dials atomic.Int32
}

func (s *movingService) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: *s.host.Load()}, nil
}

func (s *movingService) DialCluster(ctx context.Context, network, address string) (net.Conn, error) {
	s.dials.Add(1)
	return s.Selector.DialCluster(ctx, network, address)
}

// serveAs starts a webhook with a certificate that allows everything and counts its calls.
func serveAs(t *testing.T, pair tls.Certificate, calls *atomic.Int32) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Host != "w.n.svc:8443" {
			t.Errorf("Host %q", r.Host)
		}
		var review admissionapi.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}))
	s.TLS, s.EnableHTTP2 = &tls.Config{Certificates: []tls.Certificate{pair}}, true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Reviews reach the address that the Service resolves to, whatever connections are open.
func TestServiceMoves(t *testing.T) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("w.n.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var calls [2]atomic.Int32
	resolver := &movingService{}
	p := NewValidating(Config{Namespaces: nowhere, Resolver: resolver})
	p.Set([]*admissionv1.ValidatingWebhookConfiguration{validatingHook(admissionv1.WebhookClientConfig{CABundle: cert,
		Service: &admissionv1.ServiceReference{Namespace: "n", Name: "w", Port: ptr.To(int32(8443))}}, nil)})
	defer p.Set(nil)
	servers := []*httptest.Server{serveAs(t, pair, &calls[0]), serveAs(t, pair, &calls[1])}
	for _, i := range []int{0, 1, 1, 0} {
		resolver.host.Store(ptr.To(servers[i].Listener.Addr().String()))
		if err := p.Validate(t.Context(), operation()); err != nil {
			t.Fatal(err)
		}
	}
	if a, b, dials := calls[0].Load(), calls[1].Load(), resolver.dials.Load(); a != 2 || b != 2 || dials != 2 {
		t.Errorf("%d and %d calls, %d dials", a, b, dials)
	}
	resolver.host.Store(ptr.To("127.0.0.1:1"))
	const want = `failed to call webhook: Post "https://w.n.svc:8443/?timeout=`
	if err := p.Validate(t.Context(), operation()); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), `": dial tcp 127.0.0.1:1: connect: connection refused`) {
		t.Errorf("%v", err)
	}
}

// A proxy of the environment is not used: NO_PROXY may contain .svc and not the addresses.
func TestServicesWithoutProxy(t *testing.T) {
	config := &rest.Config{}
	toService(config, &admissionv1.ServiceReference{Namespace: "n", Name: "w"}, &movingService{})
	if config.Proxy == nil {
		t.Fatal("the proxy of the environment is used")
	}
	if u, err := config.Proxy(httptest.NewRequest(http.MethodPost, "https://192.0.2.1", nil)); u != nil || err != nil {
		t.Errorf("proxy %v, %v", u, err)
	}
}
