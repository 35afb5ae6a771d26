package egress

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
)

// signed returns a server certificate for 127.0.0.1 that another certificate has signed, and the pool of the
// latter.
func signed(t *testing.T, key *rsa.PrivateKey, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	change(leaf)
	own, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(own)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// last is a backend that keeps the last event.
type last struct{ event *audit.Event }

func (l *last) Process(events ...*audit.Event) bool {
	l.event = events[len(events)-1]
	return true
}

func (*last) Close(context.Context) {}

func counted(t *testing.T, m *metrics.Registry, name string) float64 {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].Counter.GetValue()
		}
	}
	return -1
}

// audited returns the context of an audited request, and a function that returns its annotations.
func audited(t *testing.T) (*request.State, func() map[string]string) {
	t.Helper()
	kept := &last{}
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	record := audit.New(&audit.Policy{Rules: []audit.PolicyRule{{Level: audit.LevelMetadata}}}, kept, nil).Begin()
	record.Open(&audit.Request{HTTP: r, Attributes: &authorizer.Attributes{Verb: "get", Path: "/x"}})
	s := &request.State{Audit: record}
	s.Init(t.Context())
	return s, func() map[string]string {
		record.Complete()
		return kept.event.Annotations
	}
}

func TestCheckCertificates(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sha1 := func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA }
	nameless := func(c *x509.Certificate) { c.IPAddresses = nil }
	for name, c := range map[string]struct {
		change     func(*x509.Certificate)
		unverified bool
		want       string
	}{
		"good":                      {change: func(*x509.Certificate) {}},
		"another host":              {change: func(c *x509.Certificate) { c.IPAddresses[0] = net.IPv4(192, 0, 2, 1) }},
		"SHA-1":                     {change: sha1, want: sha1Signed},
		"SHA-1, not verified":       {change: sha1, want: sha1Signed, unverified: true},
		"a common name":             {change: nameless, want: missingSAN},
		"a common name, unverified": {change: nameless, want: missingSAN, unverified: true},
	} {
		certificate, pool := signed(t, key, c.change)
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail
		server.StartTLS()
		m := metrics.New()
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, InsecureSkipVerify: c.unverified}} //nolint:gosec // as users may configure
		ctx, annotations := audited(t)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := CheckCertificates(transport, NewWebhookCertificateMetrics(m)).RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if refused := !c.unverified && name != "good"; (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
		got := slices.Collect(maps.Keys(annotations()))
		if want := c.want + "127.0.0.1"; c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: annotated with %v", name, got)
		}
		for kind, prefix := range map[string]string{"insecure_sha1": sha1Signed, "missing_san": missingSAN} {
			if got := counted(t, m, "apiserver_webhooks_x509_"+kind+"_total"); (got == 1) != (c.want == prefix) {
				t.Errorf("%s: %v of %s", name, got, kind)
			}
		}
		transport.CloseIdleConnections()
		server.Close()
	}
}
