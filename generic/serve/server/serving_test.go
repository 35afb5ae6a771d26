package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
	"triplane.dev/generic/serve/secureserving"
)

// selfSigned writes a certificate for a name and returns its files.
func selfSigned(t testing.TB, dir, name string) secureserving.CertificateFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := secureserving.CertificateFiles{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
	if err := os.WriteFile(f.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// presented returns the serial number of the certificate that a server sends.
func presented(t *testing.T, address, name string) *big.Int {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber
}

func serveTLS(t *testing.T, change func(*Config, *secureserving.SecureServing), paths map[string]http.HandlerFunc, sni ...secureserving.CertificateFiles) (*PreparedServer, secureserving.CertificateFiles, func() error) {
	t.Helper()
	def := selfSigned(t, t.TempDir(), "default.example.com")
	certs, err := secureserving.NewCertificates(def, sni...)
	if err != nil {
		t.Fatal(err)
	}
	certs.CheckInterval = 0
	l, err := secureserving.Listen(context.Background(), "127.0.0.1:0", false, false)
	if err != nil {
		t.Fatal(err)
	}
	serving := &secureserving.SecureServing{Listener: l, Certificates: certs}
	s := newTestServer(t, func(c *Config) {
		c.Serving = serving
		if change != nil {
			change(c, serving)
		}
	})
	for path, h := range paths {
		s.Handler.NonGoRestfulMux.HandleFunc(path, h)
	}
	p := s.PrepareRun()
	return p, def, run(t, p)
}

func TestServingCertificates(t *testing.T) {
	dir := t.TempDir()
	foo, wild := selfSigned(t, dir, "foo.example.com"), selfSigned(t, dir, "wild")
	wild.Names = []string{"*.wild.example.com"}
	p, def, _ := serveTLS(t, nil, nil, foo, wild)
	address := p.Config().Serving.Address()

	serial := func(f secureserving.CertificateFiles) string {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		leaf, _ := x509.ParseCertificate(pair.Certificate[0])
		return leaf.SerialNumber.String()
	}
	for name, want := range map[string]secureserving.CertificateFiles{
		"default.example.com": def, "other": def, "": def,
		"foo.example.com": foo, "FOO.example.com": foo,
		"a.wild.example.com": wild, "a.b.wild.example.com": def, "wild.example.com": def,
	} {
		if got := presented(t, address, name).String(); got != serial(want) {
			t.Errorf("%q is shown another certificate", name)
		}
	}

	// Replaced files apply to new connections, invalid ones to none.
	before := presented(t, address, "other")
	fresh := selfSigned(t, dir, "fresh")
	for from, to := range map[string]string{fresh.CertFile: def.CertFile, fresh.KeyFile: def.KeyFile} {
		b, _ := os.ReadFile(from)
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := presented(t, address, "other")
	if after.Cmp(before) == 0 {
		t.Error("the former certificate is still shown")
	}
	if err := os.WriteFile(def.CertFile, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := presented(t, address, "other"); got.Cmp(after) != 0 {
		t.Error("a broken file changed what is shown")
	}
}

func TestNewCertificatesFails(t *testing.T) {
	good := selfSigned(t, t.TempDir(), "good")
	for name, f := range map[string]secureserving.CertificateFiles{
		"no file":       {CertFile: "nowhere.crt", KeyFile: good.KeyFile},
		"not a key":     {CertFile: good.CertFile, KeyFile: good.CertFile},
		"another's key": {CertFile: good.CertFile, KeyFile: selfSigned(t, t.TempDir(), "other").KeyFile},
	} {
		if _, err := secureserving.NewCertificates(f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestServingShutsDownGracefully(t *testing.T) {
	entered := make(chan struct{}, 2)
	paths := map[string]http.HandlerFunc{
		"/slow": func(w http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			time.Sleep(100 * time.Millisecond)
			io.WriteString(w, r.Proto)
		},
	}
	for _, disable := range []bool{false, true} {
		p, _, stop := serveTLS(t, func(_ *Config, s *secureserving.SecureServing) { s.DisableHTTP2 = disable }, paths)
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: transport}
		url := "https://" + p.Config().Serving.Address()
		answered := make(chan string, 1)
		go func() {
			resp, err := client.Get(url + "/slow")
			if err != nil {
				answered <- err.Error()
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			answered <- string(b)
		}()
		<-entered
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "HTTP/2.0", true: "HTTP/1.1"}[disable]
		if got := <-answered; got != want {
			t.Errorf("a request in flight got %q, want %q", got, want)
		}
		if _, err := client.Get(url + "/livez"); err == nil { //nolint:bodyclose // there is no answer
			t.Error("connections are accepted after the end")
		}
		transport.CloseIdleConnections()
	}
}

// During shutdown, responses close their connections while requests in flight complete.
func TestShutdownSendsNewRequestsElsewhere(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	p, _, stop := serveTLS(t, nil, map[string]http.HandlerFunc{"/slow": func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		io.WriteString(w, "done")
	}})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := "https://" + p.Config().Serving.Address()
	answered, stopped := make(chan string, 1), make(chan error, 1)
	ask := func(path string) (string, error) {
		resp, err := client.Get(url + path)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return resp.Status + " " + string(b), err
	}
	go func() {
		answer, err := ask("/slow")
		if err != nil {
			answer = err.Error()
		}
		answered <- answer
	}()
	<-entered
	go func() { stopped <- stop() }()
	eventually(t, "the end of new requests", func() bool {
		answer, err := ask("/livez")
		if err == nil && answer != "200 OK ok" {
			t.Errorf("a new request got %s", answer)
		}
		return err != nil
	})
	close(release)
	if got := <-answered; got != "200 OK done" {
		t.Errorf("the request in flight got %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestListenerThatBreaksEndsTheServer(t *testing.T) {
	certs, err := secureserving.NewCertificates(selfSigned(t, t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := secureserving.Listen(context.Background(), "127.0.0.1:0", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := newTestServer(t, func(c *Config) {
		c.Serving = &secureserving.SecureServing{Listener: brokenListener{l}, Certificates: certs}
	})
	if err := s.PrepareRun().Run(context.Background()); err == nil {
		t.Error("no error")
	}
}

// brokenListener is a listener whose Accept fails.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("broken") }
