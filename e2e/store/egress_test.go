// An etcd that only a proxy of the egress configuration can reach.

package store

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/base/egress/egresstest"
)

// TestEtcdBehindProxy starts a server on an etcd whose name only a proxy knows.
func TestEtcdBehindProxy(t *testing.T) {
	etcd := strings.TrimPrefix(harness.StartEtcd(t), "http://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := egresstest.HTTPConnect(t, l)
	asked.Route = func(string) string { return etcd }
	file := filepath.Join(t.TempDir(), "egress.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n"+
		"egressSelections: [{name: etcd, connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://%s'}}}}]\n", l.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, "--etcd-servers=http://etcd.invalid:2379", "--egress-selector-config-file="+file)
	s.Kubectl(t, "create", "configmap", "c")
	for _, address := range asked.Addresses() {
		if address != "etcd.invalid:2379" {
			t.Errorf("the proxy was asked for %s", address)
		}
	}
	if len(asked.Addresses()) == 0 {
		t.Error("etcd was not reached through the proxy")
	}
}
