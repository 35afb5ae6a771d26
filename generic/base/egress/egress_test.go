package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	certutil "k8s.io/client-go/util/cert"

	"triplane.dev/generic/base/egress/egresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load returns a selector with a connection for the cluster.
func load(t *testing.T, connection string) *Selector {
	t.Helper()
	s, err := Load(write(t, "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection: "+connection))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "egress.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// certificates writes a self-signed certificate for a host.
func certificates(t *testing.T, host string) (files string, server *tls.Config) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"crt": cert, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("{caBundle: %[1]s/crt, clientCert: %[1]s/crt, clientKey: %[1]s/key}", dir),
		&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2", "http/1.1"}}
}

// destination is a server with a name that only the proxies can resolve.
func destination(t *testing.T) (route func(string) string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	return func(address string) string {
		if address == "node.cluster:10250" {
			return s.Listener.Addr().String()
		}
		return "127.0.0.1:1" // where nobody is
	}
}

// get sends a request to the destination through a dial.
func get(t *testing.T, dial Dial, host string) (string, error) {
	t.Helper()
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Get("http://" + host + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestProxies(t *testing.T) {
	files, secure := certificates(t, "127.0.0.1")
	socket := filepath.Join(t.TempDir(), "proxy")
	for name, run := range map[string]func(t *testing.T) (connection string, recorder *egresstest.Recorder){
		"HTTPConnect over TCP": func(t *testing.T) (string, *egresstest.Recorder) {
			l := listen(t, "tcp", "127.0.0.1:0")
			return fmt.Sprintf("{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://%s'}}}", l.Addr()), egresstest.HTTPConnect(t, l)
		},
		"HTTPConnect over TLS": func(t *testing.T) (string, *egresstest.Recorder) {
			l := listen(t, "tcp", "127.0.0.1:0")
			plain := secure.Clone()
			plain.NextProtos = nil
			return fmt.Sprintf("{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'https://%s', tlsConfig: %s}}}", l.Addr(), files), egresstest.HTTPConnect(t, tls.NewListener(l, plain))
		},
		"HTTPConnect over TLS by another name": func(t *testing.T) (string, *egresstest.Recorder) {
			l := listen(t, "tcp", "127.0.0.1:0")
			files, plain := certificates(t, "proxy.example.com")
			plain.NextProtos = nil
			return fmt.Sprintf("{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'https://%s', tlsConfig: %s}}}", l.Addr(),
				strings.Replace(files, "{", "{tlsServerName: proxy.example.com, ", 1)), egresstest.HTTPConnect(t, tls.NewListener(l, plain))
		},
		"HTTPConnect over a socket": func(t *testing.T) (string, *egresstest.Recorder) {
			return fmt.Sprintf("{proxyProtocol: HTTPConnect, transport: {uds: {udsName: %s}}}", socket), egresstest.HTTPConnect(t, listen(t, "unix", socket))
		},
		"GRPC over TLS": func(t *testing.T) (string, *egresstest.Recorder) {
			l := listen(t, "tcp", "127.0.0.1:0")
			return fmt.Sprintf("{proxyProtocol: GRPC, transport: {tcp: {url: 'https://%s', tlsConfig: %s}}}", l.Addr(), files),
				egresstest.Konnectivity(t, l, grpc.Creds(credentials.NewTLS(secure)))
		},
		"GRPC over a socket": func(t *testing.T) (string, *egresstest.Recorder) {
			return fmt.Sprintf("{proxyProtocol: GRPC, transport: {uds: {udsName: %s-grpc}}}", socket), egresstest.Konnectivity(t, listen(t, "unix", socket+"-grpc"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			connection, recorder := run(t)
			recorder.Route = destination(t)
			s := load(t, connection)
			if body, err := get(t, s.DialCluster, "node.cluster:10250"); err != nil || body != "hello" {
				t.Errorf("%q, %v", body, err)
			}
			if _, err := get(t, s.DialCluster, "nobody.cluster:1"); err == nil || !strings.Contains(err.Error(), "nobody.cluster:1") {
				t.Errorf("a destination that is not there: %v", err)
			}
			if got := recorder.Addresses(); !slices.Equal(got, []string{"node.cluster:10250", "nobody.cluster:1"}) {
				t.Errorf("connected to %v", got)
			}
			if got := testutil.CollectAndCount(s.metrics.failures); got != 1 {
				t.Errorf("%d series of failures", got)
			}
			if _, err := get(t, s.DialControlPlane, "127.0.0.1:1"); err == nil || len(recorder.Addresses()) != 2 {
				t.Errorf("the control plane is not reached directly: %v", err)
			}
		})
	}
}

// A dial ends with its context.
func TestProxyThatDoesNotRespond(t *testing.T) {
	for _, protocol := range []string{"HTTPConnect", "GRPC"} {
		l := listen(t, "tcp", "127.0.0.1:0")
		defer l.Close()
		s := load(t, fmt.Sprintf("{proxyProtocol: %s, transport: {tcp: {url: 'http://%s'}}}", protocol, l.Addr()))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.DialCluster(ctx, "tcp", "node:1"); err == nil {
			t.Errorf("%s: connected", protocol)
		}
	}
}

// Closing the selector closes connections through konnectivity.
func TestCloseEndsTunnels(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "proxy")
	recorder := egresstest.Konnectivity(t, listen(t, "unix", socket))
	recorder.Route = destination(t)
	s := load(t, fmt.Sprintf("{proxyProtocol: GRPC, transport: {uds: {udsName: %s}}}", socket))
	conn, err := s.DialCluster(t.Context(), "tcp", "node.cluster:10250")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	_ = conn.Close()
}

func TestLoadRejects(t *testing.T) {
	const head = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n"
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod":                                                                                          "expected kind EgressSelectorConfiguration",
		head + "- {name: cluster, connections: {proxyProtocol: Direct}}":                                                     "unknown field",
		head + "- {name: master, connection: {proxyProtocol: Direct}}":                                                       "name: Unsupported value",
		head + "- {name: etcd, connection: {proxyProtocol: Direct}}\n- {name: etcd, connection: {proxyProtocol: Direct}}":    "Duplicate value",
		head + "- {name: etcd, connection: {proxyProtocol: direct}}":                                                         "proxyProtocol: Unsupported value",
		head + "- {name: etcd, connection: {proxyProtocol: Direct, transport: {uds: {udsName: x}}}}":                         "must be absent for direct",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC}}":                                                           "either tcp or uds",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {uds: {udsName: x}, tcp: {url: 'http://a:1'}}}}": "only one of",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {uds: {}}}}":                                     "udsName: Required",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {tcp: {url: 'ftp://a:1'}}}}":                     "must be http://HOST:PORT",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {tcp: {url: 'http://a:1/b'}}}}":                  "nothing behind it",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {tcp: {url: 'https://a:1'}}}}":                   "tlsConfig: Required",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {tcp: {url: 'https://a:1', tlsConfig: {}}}}}":    "clientKey: Required",
		head + "- {name: etcd, connection: {proxyProtocol: GRPC, transport: {tcp: {url: 'http://a:1', tlsConfig: {}}}}}":     "must be absent where the URL is http",
	} {
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s, err := Load(write(t, "apiVersion: apiserver.k8s.io/v1alpha1\nkind: EgressSelectorConfiguration\negressSelections: [{name: master, connection: {proxyProtocol: Direct}}]"))
	if err != nil || s.dials[nameControlPlane] == nil || s.Etcd() != nil {
		t.Errorf("%v, %v", s, err)
	}
	s.Close()
}
