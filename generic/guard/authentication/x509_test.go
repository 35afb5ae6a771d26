package authentication

import (
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
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/user"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) write(t testing.TB, file string) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) issue(t testing.TB, subject pkix.Name, change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: subject, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func ask(auth Request, cert *x509.Certificate, header ...string) (*Response, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if cert != nil {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return auth.AuthenticateRequest(r)
}

func TestX509(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	ca.write(t, file)
	bundle, err := NewCABundle(file)
	if err != nil {
		t.Fatal(err)
	}
	auth := X509(bundle, true)
	withUID := pkix.Name{CommonName: "u", Organization: []string{"g", "h"}, ExtraNames: []pkix.AttributeTypeAndValue{{Type: uidOID, Value: "id"}}}
	for range 2 { // the second time from memory
		response, err := ask(auth, ca.issue(t, withUID, nil))
		if err != nil || response.User.Name != "u" || response.User.UID != "id" || !reflect.DeepEqual(response.User.Groups, []string{"g", "h"}) ||
			!strings.HasPrefix(response.User.Extra[user.CredentialIDKey][0], "X509SHA256=") {
			t.Errorf("%+v %v", response, err)
		}
	}
	for name, cert := range map[string]*x509.Certificate{
		"stranger": stranger.issue(t, pkix.Name{CommonName: "u"}, nil),
		"expired":  ca.issue(t, pkix.Name{CommonName: "u"}, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		"server": ca.issue(t, pkix.Name{CommonName: "u"}, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}),
	} {
		for range 2 {
			if response, err := ask(auth, cert); response != nil || err == nil {
				t.Errorf("%s: %v %v", name, response, err)
			}
		}
	}
	if response, err := ask(auth, ca.issue(t, pkix.Name{}, nil)); response != nil || err != nil {
		t.Errorf("no name: %v %v", response, err)
	}
	if response, err := ask(auth, nil); response != nil || err != nil {
		t.Errorf("no certificate: %v %v", response, err)
	}

	// After a change of the file, cached verifications are invalid.
	old := ca.issue(t, pkix.Name{CommonName: "u"}, nil)
	if _, err := ask(auth, old); err != nil {
		t.Fatal(err)
	}
	stranger.write(t, file)
	if err := os.Chtimes(file, time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	bundle.checked.Store(0)
	if response, err := ask(auth, old); response != nil || err == nil {
		t.Errorf("the old authority still counts: %v", response)
	}
	if _, err := ask(auth, stranger.issue(t, pkix.Name{CommonName: "u"}, nil)); err != nil {
		t.Errorf("the new authority does not count: %v", err)
	}
	if err := os.WriteFile(file, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle.checked.Store(0)
	if _, err := ask(auth, stranger.issue(t, pkix.Name{CommonName: "u"}, nil)); err != nil {
		t.Errorf("the last good authority must stay: %v", err)
	}
	if _, err := NewCABundle(file); err == nil {
		t.Error("rubbish is taken for a bundle")
	}
}

func TestRequestHeader(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	ca.write(t, file)
	bundle, err := NewCABundle(file)
	if err != nil {
		t.Fatal(err)
	}
	auth := RequestHeader(bundle, RequestHeaderConfig{
		UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"},
		ExtraHeaderPrefixes: []string{"X-Remote-Extra-"}, AllowedNames: []string{"aggregator"},
	})
	proxy := ca.issue(t, pkix.Name{CommonName: "aggregator"}, nil)
	headers := []string{"X-Remote-User", "jane", "X-Remote-Group", "a", "X-Remote-Group", "b", "X-Remote-Uid", "7", "X-Remote-Extra-Acme.com%2fX", "y"}
	response, err := ask(auth, proxy, headers...)
	want := &user.Info{Name: "jane", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"acme.com/x": {"y"}}}
	if err != nil || !reflect.DeepEqual(response.User, want) {
		t.Errorf("%+v %v", response, err)
	}
	if response, err := ask(auth, nil, headers...); response != nil || err != nil {
		t.Errorf("without a certificate: %v %v", response, err)
	}
	if response, err := ask(auth, proxy); response != nil || err != nil {
		t.Errorf("without headers: %v %v", response, err)
	}
	for _, c := range []*x509.Certificate{ca.issue(t, pkix.Name{CommonName: "other"}, nil), stranger.issue(t, pkix.Name{CommonName: "aggregator"}, nil)} {
		if response, err := ask(auth, c, headers...); response != nil || err == nil {
			t.Errorf("%s: %v %v", c.Subject, response, err)
		}
	}
}

// Headers with non-standard names are removed as well, whatever client sends them.
func TestForeignRequestHeaders(t *testing.T) {
	ca := newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	ca.write(t, file)
	bundle, err := NewCABundle(file)
	if err != nil {
		t.Fatal(err)
	}
	auth := RequestHeader(bundle, RequestHeaderConfig{
		UsernameHeaders: []string{"x-proxied-user"}, UIDHeaders: []string{"X-Proxied-Uid"}, GroupHeaders: []string{"X-Remote-Group", "X-Proxied-Group"},
		ExtraHeaderPrefixes: []string{"x-proxied-extra-"},
	})
	for _, cert := range []*x509.Certificate{nil, ca.issue(t, pkix.Name{CommonName: "aggregator"}, nil)} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, name := range []string{"X-Proxied-User", "X-Proxied-Uid", "X-Proxied-Group", "X-Proxied-Extra-Key", "X-Kept"} {
			r.Header.Set(name, "v")
		}
		if r.TLS = nil; cert != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
		}
		response, err := auth.AuthenticateRequest(r)
		if (response != nil) != (cert != nil) || err != nil {
			t.Errorf("%v, %v", response, err)
		}
		if len(r.Header) != 1 || r.Header.Get("X-Kept") == "" {
			t.Errorf("%v is left", r.Header)
		}
	}
}

func BenchmarkX509(b *testing.B) {
	ca := newAuthority(b)
	file := filepath.Join(b.TempDir(), "ca.crt")
	ca.write(b, file)
	bundle, err := NewCABundle(file)
	if err != nil {
		b.Fatal(err)
	}
	auth, r := X509(bundle, true), httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ca.issue(b, pkix.Name{CommonName: "u"}, nil)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := auth.AuthenticateRequest(r); err != nil {
			b.Fatal(err)
		}
	}
}
