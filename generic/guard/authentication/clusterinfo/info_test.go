package clusterinfo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	corev1fake "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	clienttesting "k8s.io/client-go/testing"

	"go.uber.org/goleak"

	"triplane.dev/generic/guard/authentication"
)

// authority returns a self-signed certificate of a proxy and its PEM.
func authority(t *testing.T, name string) (*x509.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func configMap(version, ca, names string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: ConfigMap, ResourceVersion: version}, Data: map[string]string{
		"client-ca-file": ca, "requestheader-client-ca-file": ca, "requestheader-allowed-names": names, "requestheader-username-headers": `["X-User"]`,
	}}
}

// fakeClient is a client whose watches send no bookmarks.
type fakeClient struct{ *corev1fake.FakeCoreV1 }

// IsWatchListSemanticsUnSupported is what client-go asks for.
func (fakeClient) IsWatchListSemanticsUnSupported() bool { return true }

// newClient returns a client of a tracker that has the ConfigMap.
func newClient(t *testing.T, c *corev1.ConfigMap) fakeClient {
	t.Helper()
	objects := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	if err := objects.Add(c); err != nil {
		t.Fatal(err)
	}
	client := fakeClient{&corev1fake.FakeCoreV1{Fake: &clienttesting.Fake{}}}
	client.AddReactor("*", "*", clienttesting.ObjectReaction(objects))
	client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := objects.Watch(action.GetResource(), action.GetNamespace())
		return true, w, err
	})
	return client
}

// A proxy is trusted as long as the ConfigMap has its authority.
func TestFollowsTheConfigMap(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	proxy, ca := authority(t, "proxy")
	_, other := authority(t, "other")
	client := newClient(t, configMap("1", ca, `["proxy"]`))
	info := New()
	requests := authentication.RequestHeaderNow(info.RequestHeaderCA, info.Headers)
	known := func() bool {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{proxy}}
		r.Header.Set("X-User", "jane")
		response, err := requests.AuthenticateRequest(r)
		return err == nil && response != nil && response.User.Name == "jane"
	}
	if known() {
		t.Error("a proxy is trusted before the config map was read")
	}
	if err := info.Read(t.Context(), client); err != nil || !known() {
		t.Fatalf("the proxy is not trusted: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		info.Follow(ctx, client)
	}()
	for i, c := range []struct {
		ca, names string
		known     bool
	}{
		{ca, `["another"]`, false}, {ca, `["proxy"]`, true}, {other, `["proxy"]`, false}, {ca, `[]`, true},
		{"nonsense", `[]`, true}, {other, `nonsense`, true}, {other, `[]`, false},
	} {
		if _, err := client.ConfigMaps("kube-system").Update(ctx, configMap(string(rune('2'+i)), c.ca, c.names), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); known() != c.known; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after change %d the proxy is trusted: %v", i, !c.known)
			}
		}
	}
	cancel()
	<-done
}
