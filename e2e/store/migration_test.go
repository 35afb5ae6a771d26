// StorageVersionMigrations re-encrypt Secrets and move custom resources to another version.

package store

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"triplane.dev/e2e/harness"
)

// TestStorageVersionMigration moves Secrets to another key, and custom resources to
// another version, until nobody needs those from before.
func TestStorageVersionMigration(t *testing.T) {
	config := t.TempDir() + "/encryption.yaml"
	encryptWith(t, config, "a")
	s, _ := harness.StartControlled(t, "--feature-gates=StorageVersionMigrator=true",
		"--runtime-config=storagemigration.k8s.io/v1beta1=true", "--encryption-provider-config", config)
	s.Kubectl(t, "create", "secret", "generic", "s", "--from-literal=k=v")
	thingVersions(t, s, "v1")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/things.example.com", "--timeout=30s")
	s.KubectlIn(t, `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t","namespace":"default"},"spec":"kept"}`, "create", "-f", "-")
	thingVersions(t, s, "v1", "v2")
	storedVersions := func(want string) {
		t.Helper()
		if got := s.Kubectl(t, "get", "crd", "things.example.com", "-o",
			"jsonpath={.status.storedVersions}"); got != want {
			t.Errorf("stored versions %s, want %s", got, want)
		}
	}
	storedVersions(`["v1","v2"]`)
	restartEncrypting(t, s, config, "b", "a")
	for name, end := range map[string]string{"secrets": "Succeeded", "things.example.com": "Succeeded",
		"componentstatuses": "Failed"} {
		resource, group, _ := strings.Cut(name, ".")
		s.KubectlIn(t, fmt.Sprintf(`{"apiVersion":"storagemigration.k8s.io/v1beta1","kind":"StorageVersionMigration","metadata":{"name":%q},
			"spec":{"resource":{"group":%q,"resource":%q}}}`, name, group, resource), "create", "-f", "-")
		s.Kubectl(t, "wait", "--for=condition="+end, "storageversionmigration/"+name, "--timeout=40s")
	}
	storedVersions(`["v2"]`)

	thingVersions(t, s, "v2")
	restartEncrypting(t, s, config, "b")
	if got := s.Kubectl(t, "get", "secret", "s", "-o", "jsonpath={.data.k}"); got != "dg==" {
		t.Errorf("the secret is %q", got)
	}
	thing := s.Kubectl(t, "get", "--raw", "/apis/example.com/v2/namespaces/default/things/t")
	for _, want := range []string{`"spec":"kept"`, `"generation":1`, `"manager":"kubectl-create"`} {
		if !strings.Contains(thing, want) {
			t.Errorf("the thing has not %s: %s", want, thing)
		}
	}
	if strings.Contains(thing, "storage-version-migrator") {
		t.Errorf("the thing has the migrator's fields: %s", thing)
	}
}

// thingVersions defines a resource with versions, of which the last is stored.
func thingVersions(t *testing.T, s *harness.Server, versions ...string) {
	t.Helper()
	var list []string
	for i, v := range versions {
		list = append(list, fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
			v, i == len(versions)-1))
	}
	s.KubectlIn(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[`+strings.Join(list, ",")+`]}}`, "apply", "-f", "-")
}

// encryptWith writes a configuration that encrypts Secrets with the first key.
func encryptWith(t *testing.T, path string, keys ...string) {
	t.Helper()
	text := "{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [{resources: [secrets], providers: ["
	for _, key := range keys {
		text += fmt.Sprintf("{aescbc: {keys: [{name: %s, secret: %s}]}},", key,
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key, 32))))
	}
	if err := os.WriteFile(path, []byte(text+"]}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func restartEncrypting(t *testing.T, s *harness.Server, path string, keys ...string) {
	t.Helper()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	encryptWith(t, path, keys...)
	s.Restart(t)
}
