package triplane

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triplane.dev/generic/base/egress/egresstest"
)

// egressOptions are podOptions with an egress selector: connection is of the cluster.
func egressOptions(t *testing.T, connection string) *Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "egress.yaml")
	text := "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection: " + connection
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := podOptions(t)
	o.Egress.ConfigFile = file
	return o
}

// TestKubeletBehindProxy connects to a kubelet that is reachable only through a proxy.
func TestKubeletBehindProxy(t *testing.T) {
	srv := httptest.NewTLSServer(fakeKubelet{t})
	defer srv.Close()
	for name, serve := range map[string]func(t *testing.T, l net.Listener) *egresstest.Recorder{
		"HTTPConnect": func(t *testing.T, l net.Listener) *egresstest.Recorder { return egresstest.HTTPConnect(t, l) },
		"GRPC":        func(t *testing.T, l net.Listener) *egresstest.Recorder { return egresstest.Konnectivity(t, l) },
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "proxy")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			recorder := serve(t, l)
			recorder.Route = func(string) string { return srv.Listener.Addr().String() }
			kubeletStories(t, 1, egressOptions(t, fmt.Sprintf("{proxyProtocol: %s, transport: {uds: {udsName: %s}}}", name, socket)))
			if !slices.Contains(recorder.Addresses(), "127.0.0.1:1") {
				t.Errorf("the proxy was asked for %v", recorder.Addresses())
			}
		})
	}
}
