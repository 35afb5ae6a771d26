package kubelet

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// writeClientCertificate writes a new certificate with a DNS name, and its key.
func writeClientCertificate(t *testing.T, c Config, name string) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{c.CertFile: cert, c.KeyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// logServer is a kubelet that responds with the DNS name of the client's certificate.
type logServer struct {
	*httptest.Server
	started, finish chan struct{} // of requests for /wait
	closed          chan struct{} // receives one value per closed connection
}

func newLogServer(t *testing.T) *logServer {
	k := &logServer{started: make(chan struct{}), finish: make(chan struct{}), closed: make(chan struct{}, 10)}
	k.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			k.started <- struct{}{}
			<-k.finish
		}
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].DNSNames[0])
	}))
	k.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	k.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			k.closed <- struct{}{}
		}
	}
	k.StartTLS()
	t.Cleanup(k.Close)
	return k
}

// log returns what the server responds.
func (k *logServer) log(t *testing.T, c *Client, path string, insecure bool) string {
	location, err := url.Parse(k.URL + path)
	if err != nil {
		t.Error(err)
		return ""
	}
	stream, _, _, err := (&Log{Client: c, Location: location, Insecure: insecure}).InputStream(t.Context(), "", "")
	if err != nil {
		t.Error(err)
		return ""
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func (k *logServer) expectClosed(t *testing.T, what string) {
	t.Helper()
	select {
	case <-k.closed:
	case <-time.After(30 * time.Second):
		t.Errorf("the connection of %s remains open", what)
	}
}

// After a change of the client certificate no request uses a connection with the previous one. Idle connections are
// closed, others after their request.
func TestClientCertificateChanges(t *testing.T) {
	for name, insecure := range map[string]bool{"verified": false, "insecure": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := Config{CertFile: filepath.Join(dir, "crt"), KeyFile: filepath.Join(dir, "key")}
			writeClientCertificate(t, config, "before")
			c, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			c.certificates.CheckInterval = 0
			k := newLogServer(t)
			long := make(chan string)
			go func() { long <- k.log(t, c, "/wait", insecure) }()
			<-k.started
			for range 2 {
				if got := k.log(t, c, "/", insecure); got != "before" {
					t.Errorf("the client is %q", got)
				}
			}
			expectSameTransports(t, c)
			writeClientCertificate(t, config, "after")
			if got := k.log(t, c, "/", insecure); got != "after" {
				t.Errorf("after the change the client is %q", got)
			}
			k.expectClosed(t, "the previous certificate")
			k.finish <- struct{}{}
			if got := <-long; got != "before" {
				t.Errorf("the client of the request in flight is %q", got)
			}
			k.expectClosed(t, "the request in flight")
			c.InsecureTransport().CloseIdleConnections()
			c.Transport().CloseIdleConnections()
		})
	}
}

func TestNoClientCertificate(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	expectSameTransports(t, c)
}

// expectSameTransports fails the test if the transports change without a change of the certificate.
func expectSameTransports(t *testing.T, c *Client) {
	t.Helper()
	verified, insecure := c.Transport(), c.InsecureTransport()
	if c.Transport() != verified || c.InsecureTransport() != insecure {
		t.Error("the transports change")
	}
}
