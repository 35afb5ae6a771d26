package conversion

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	certutil "k8s.io/client-go/util/cert"

	"triplane.dev/generic/base/egress"
)

// movingService resolves each Service to the server of the moment.
type movingService struct {
	*egress.Selector
	now atomic.Pointer[httptest.Server]
}

func (s *movingService) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: s.now.Load().Listener.Addr().String()}, nil
}

// converting starts a conversion webhook with a certificate that counts its calls.
func converting(t *testing.T, pair tls.Certificate, calls *atomic.Int32) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Host != "w.n.svc:443" {
			t.Errorf("Host %q", r.Host)
		}
		var in review
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
			return
		}
		in.Response = &apiextensionsv1.ConversionResponse{UID: in.Request.UID, Result: metav1.Status{Status: "Success"}}
		for _, raw := range in.Request.Objects {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(raw.Raw); err != nil {
				t.Error(err)
			}
			o.SetAPIVersion(in.Request.DesiredAPIVersion)
			in.Response.ConvertedObjects = append(in.Response.ConvertedObjects, runtime.RawExtension{Object: o})
		}
		_ = json.NewEncoder(w).Encode(&in)
	}))
	s.TLS, s.EnableHTTP2 = &tls.Config{Certificates: []tls.Certificate{pair}}, true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Conversions reach the address that the Service resolves to, whatever connections are open.
func TestServiceMoves(t *testing.T) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("w.n.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	resolver := &movingService{}
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: cert,
					Service: &apiextensionsv1.ServiceReference{Namespace: "n", Name: "w"}}}}}}
	c, err := (&Factory{Resolver: resolver, Memory: NewMemory()}).Of(crd)
	if err != nil {
		t.Fatal(err)
	}
	var calls [2]atomic.Int32
	servers := []*httptest.Server{converting(t, pair, &calls[0]), converting(t, pair, &calls[1])}
	for n, i := range []int{0, 1, 1} {
		resolver.now.Store(servers[i])
		o := object("v1", string(rune('a'+n)))
		if _, err := c.Convert(t.Context(), []*unstructured.Unstructured{o}, v2); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := calls[0].Load(), calls[1].Load(); a != 1 || b != 2 {
		t.Errorf("%d and %d calls", a, b)
	}
}
