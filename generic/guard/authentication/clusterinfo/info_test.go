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
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

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

// oneMap is a client of one ConfigMap.
type oneMap struct {
	corev1client.ConfigMapInterface

	mu      sync.Mutex
	stored  *corev1.ConfigMap
	watches []*watch.RaceFreeFakeWatcher
}

func (m *oneMap) ConfigMaps(string) corev1client.ConfigMapInterface { return m }

// IsWatchListSemanticsUnSupported has client-go send no watches that need bookmarks.
func (*oneMap) IsWatchListSemanticsUnSupported() bool { return true }

func (m *oneMap) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored, nil
}

func (m *oneMap) List(context.Context, metav1.ListOptions) (*corev1.ConfigMapList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: m.stored.ResourceVersion},
		Items: []corev1.ConfigMap{*m.stored}}, nil
}

func (m *oneMap) Watch(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := watch.NewRaceFreeFake()
	if m.stored.ResourceVersion != opts.ResourceVersion {
		w.Modify(m.stored)
	}
	m.watches = append(m.watches, w)
	return w, nil
}

// update replaces the ConfigMap.
func (m *oneMap) update(c *corev1.ConfigMap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = c
	for _, w := range m.watches {
		w.Modify(c)
	}
}

// A proxy is trusted as long as the ConfigMap has its authority.
func TestFollowsTheConfigMap(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	proxy, ca := authority(t, "proxy")
	_, other := authority(t, "other")
	client := &oneMap{stored: configMap("1", ca, `["proxy"]`)}
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
		client.update(configMap(string(rune('2'+i)), c.ca, c.names))
		for deadline := time.Now().Add(30 * time.Second); known() != c.known; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after change %d the proxy is trusted: %v", i, !c.known)
			}
		}
	}
	cancel()
	<-done
}
