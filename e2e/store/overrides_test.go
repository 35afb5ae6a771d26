// --etcd-servers-overrides: resources with a dedicated etcd.

package store

import (
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/e2e/harness"
)

// TestServersOverrides keeps Events and Leases in an etcd of their own: they are there and
// nowhere else, after a restart, too, controllers follow them, and while their etcd is away
// nothing else is missing.
func TestServersOverrides(t *testing.T) {
	main, dir := harness.StartEtcd(t), t.TempDir()
	other, process := harness.StartEtcdIn(t, dir)
	s, client := harness.StartControlled(t, "--etcd-servers", main, "--etcd-servers-overrides",
		"/events#"+other+",coordination.k8s.io/leases#"+other)
	s.Kubectl(t, "create", "namespace", "n")
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"n"},"involvedObject":{"namespace":"n"}}`, "create", "-f", "-")
	s.Kubectl(t, "create", "configmap", "c", "-n", "n")
	there, here := keysOf(t, other), keysOf(t, main)
	overridden := func(key string) bool {
		return strings.HasPrefix(key, "/registry/events/") || strings.HasPrefix(key, "/registry/leases/")
	}
	if !slices.Contains(there, "/registry/events/n/e") ||
		!slices.ContainsFunc(there, func(key string) bool {
			return strings.HasPrefix(key, "/registry/leases/kube-system/apiserver-")
		}) ||
		slices.ContainsFunc(here, overridden) {
		t.Errorf("the other etcd has %q, the first %q", there, here)
	}
	for _, key := range there {
		if !overridden(key) && key != "compact_rev_key" {
			t.Errorf("%s is in the other etcd", key)
		}
	}

	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if got := s.Kubectl(t, "get", "event", "-n", "n", "-o", "name"); got != "event/e\n" {
		t.Errorf("after a restart the events are %q", got)
	}
	s.Kubectl(t, "delete", "namespace", "n", "--timeout=30s")
	if there := keysOf(t, other); slices.Contains(there, "/registry/events/n/e") {
		t.Error("the event is left of the namespace")
	}

	process.Kill()
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(),
		metav1.ListOptions{LabelSelector: "!none"}); err != nil {
		t.Errorf("config maps without the other etcd: %v", err)
	}
	out, err := s.TryKubectl(t, "", "get", "--raw", "/readyz?verbose")
	if err == nil || !strings.Contains(out, "[+]etcd ok") || !strings.Contains(out, "[-]etcd-override-0 failed") {
		t.Errorf("ready without the other etcd: %v\n%s", err, out)
	}
}

// keysOf returns all keys of an etcd.
func keysOf(t *testing.T, url string) []string {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range all.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}
