// Objects that no key decrypts: the server starts, and administrators find and delete them.

package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// lostKeys has a key of nearly every kind that the server, its authorizers, its admission
// and its controllers follow.
const lostKeys = `
clusterrolebindings/lost clusterroles/lost roles/default/lost rolebindings/default/lost
flowschemas/lost prioritylevelconfigurations/lost namespaces/lost priorityclasses/lost
apiregistration.k8s.io/apiservices/lost apiextensions.k8s.io/customresourcedefinitions/lost
services/specs/default/lost services/endpoints/default/lost endpointslices/default/lost ipaddresses/10.0.0.77 servicecidrs/lost
secrets/default/lost configmaps/default/lost configmaps/default/lost-too serviceaccounts/default/lost leases/kube-system/lost
pods/default/lost minions/lost persistentvolumes/lost persistentvolumeclaims/default/lost storageclasses/lost ingressclasses/lost
jobs/default/lost poddisruptionbudgets/default/lost resourcequotas/shop/lost certificatesigningrequests/lost
validatingwebhookconfigurations/lost
`

// One object of each kind that nobody can read does not keep the server from starting,
// nor its controllers from their work; administrators find and delete it.
func TestUnreadableObjects(t *testing.T) {
	etcd := harness.StartEtcd(t)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for _, key := range strings.Fields(lostKeys) {
		if _, err := store.Put(t.Context(), "/registry/"+key, "k8s\x00 what is left of it"); err != nil {
			t.Fatal(err)
		}
	}
	audit := filepath.Join(t.TempDir(), "audit.log")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, verbs: [delete]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.StartUnready(t, "--etcd-servers="+etcd, "--controllers=*",
		"--feature-gates=AllowUnsafeMalformedObjectDeletion=true",
		"--audit-policy-file="+policy, "--audit-log-path="+audit)
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	remove := func(path string, opts string) error {
		return client.RESTClient().Delete().AbsPath(path).Body([]byte(opts)).
			SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
	}
	const (
		webhook = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/lost"
		maps    = "/api/v1/namespaces/default/configmaps"
		force   = `{"kind":"DeleteOptions","apiVersion":"v1","ignoreStoreReadErrorWithClusterBreakingPotential":true}`
	)
	// What might refuse everything keeps the server from being ready.
	if err := remove(webhook, force); err != nil {
		t.Fatal(err)
	}
	s.WaitReady(t)

	_, err = client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	wantText(t, "the list", err, "failed to read one or more configmaps from the storage: /registry/configmaps/default/lost: ")
	wantText(t, "the list", err, "; /registry/configmaps/default/lost-too: ")
	_, err = client.CoreV1().ConfigMaps("kube-system").List(t.Context(), metav1.ListOptions{})
	wantText(t, "the list of another namespace", err, "")
	wantText(t, "an ordinary deletion", remove(maps+"/lost", ""), "failed to read")
	// A dry run deletes nothing: the deletion below finds the object.
	wantText(t, "dry run", remove(maps+"/lost", strings.Replace(force, "}", `,"dryRun":["All"]}`, 1)), "")
	wantText(t, "a collection", remove(maps, force), "is not allowed with DELETECOLLECTION")
	for _, name := range []string{"lost", "lost-too"} {
		wantText(t, "deletion", remove(maps+"/"+name, force), "")
	}
	_, err = client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	wantText(t, "the list without what was lost", err, "")
	log, err := os.ReadFile(audit)
	if err != nil || !strings.Contains(string(log), `"apiserver.k8s.io/unsafe-delete-ignore-read-error":""`) {
		t.Errorf("the audit log does not say how it was deleted: %v\n%s", err, log)
	}

	// Nobody but those who may ignore errors does.
	s.Kubectl(t, "create", "clusterrole", "cleaner", "--verb=delete", "--resource=secrets")
	s.Kubectl(t, "create", "clusterrolebinding", "cleaner", "--clusterrole=cleaner", "--user=jane")
	config := *s.Config
	config.Impersonate.UserName = "jane"
	jane, err := kubernetes.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	err = jane.RESTClient().Delete().AbsPath("/api/v1/namespaces/default/secrets/lost").Body([]byte(force)).
		SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
	wantText(t, "jane", err, `cannot unsafe-delete-ignore-read-errors resource "secrets"`)

	// Controllers go on.
	s.Kubectl(t, "create", "namespace", "green")
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("green").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	s.Kubectl(t, "delete", "namespace", "green", "--timeout=30s")
}

func wantText(t *testing.T, what string, err error, text string) {
	t.Helper()
	if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("%s: %v, expected %q", what, err, text)
	}
}
