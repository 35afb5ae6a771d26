package triplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/etcd"
)

// withKeys writes an encryption configuration for secrets; the first key encrypts.
func withKeys(t *testing.T, path string, names ...string) {
	t.Helper()
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n" +
		"resources:\n- resources: [secrets]\n  providers:\n  - aesgcm:\n      keys:\n"
	for _, name := range names {
		secret := bytes.Repeat([]byte(name)[:1], 32)
		config += fmt.Sprintf("      - {name: %s, secret: %q}\n", name, base64.StdEncoding.EncodeToString(secret))
	}
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Secrets are encrypted in the embedded etcd, an update without changes re-encrypts them with a new key, and
// config maps are in a separate etcd.
func TestResourcesAreStoredAsTheFlagsSay(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	other := startEtcd(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "encryption.yaml")
	serve := func(f func(c kubernetes.Interface)) {
		o := testOptions(filepath.Join(dir, "data"))
		o.Etcd.EncryptionConfig = config
		o.Etcd.Overrides = []string{"/configmaps#" + other}
		s, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		f(kubernetes.NewForConfigOrDie(s.ClientConfig()))
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	stored := func(key string) []byte {
		s, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "data", "etcd")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		kv, err := s.Backend().Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return kv.Value
	}

	withKeys(t, config, "one")
	serve(func(c kubernetes.Interface) {
		meta := metav1.ObjectMeta{Name: "a"}
		if _, err := c.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	if v := stored("/registry/secrets/default/a"); !bytes.HasPrefix(v, []byte("k8s:enc:aesgcm:v1:one:")) {
		t.Errorf("the secret is stored as %.40q", v)
	}
	elsewhere, err := etcd.Dial(ctx, etcd.Config{Endpoints: []string{other}})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	if r, err := elsewhere.Range(ctx, storage.RangeOptions{Prefix: "/registry/"}); err != nil || r.Count == 0 {
		t.Errorf("the other etcd holds %d keys, %v", r.Count, err)
	}

	withKeys(t, config, "two", "one")
	serve(func(c kubernetes.Interface) {
		s, err := c.CoreV1().Secrets("default").Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		updated, err := c.CoreV1().Secrets("default").Update(ctx, s, metav1.UpdateOptions{})
		if err != nil || updated.ResourceVersion == s.ResourceVersion {
			t.Errorf("the update wrote nothing: %v", err)
		}
		again, err := c.CoreV1().Secrets("default").Update(ctx, updated, metav1.UpdateOptions{})
		if err != nil || again.ResourceVersion != updated.ResourceVersion {
			t.Errorf("an update that changes nothing was written although nothing is stale: %v", err)
		}
		if m, err := c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{}); err != nil || m.Name != "a" {
			t.Errorf("the config map: %v", err)
		}
	})
	if v := stored("/registry/secrets/default/a"); !bytes.HasPrefix(v, []byte("k8s:enc:aesgcm:v1:two:")) {
		t.Errorf("after the update the secret is stored as %.40q", v)
	}

	withKeys(t, config, "three")
	serve(func(c kubernetes.Interface) {
		want := `failed to read one or more secrets from the storage: /registry/secrets/default/a: unable to transform key "/registry/secrets/default/a": no matching key was found for the provided AES transformer`
		if _, err := c.CoreV1().Secrets("default").Get(ctx, "a", metav1.GetOptions{}); err == nil || err.Error() != want {
			t.Errorf("a secret that cannot be read: %v", err)
		}
		if _, err := c.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); err == nil || err.Error() != want {
			t.Errorf("a list with a secret that cannot be read: %v", err)
		}
	})
}

// All objects, including the server's own, are stored in the configured media type, and objects that
// kube-apiserver stored in others are readable.
func TestStorageMediaType(t *testing.T) {
	for mediaType, begin := range map[string]string{
		"application/json": `{"kind":"KIND","apiVersion":"VERSION"`,
		"application/yaml": "apiVersion: VERSION\n",
	} {
		t.Run(mediaType, func(t *testing.T) { testStorageMediaType(t, mediaType, begin) })
	}
}

func testStorageMediaType(t *testing.T, mediaType, begin string) {
	o := testOptions(t.TempDir())
	o.Etcd.MediaType = mediaType
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	backend, c := s.store.Backend(), client(t, s).CoreV1().Services("default")
	for i, taken := range []string{
		`{"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":"30000-32767","data":"AQ=="}` + "\n",
		"apiVersion: v1\ndata: Ag==\nkind: RangeAllocation\nmetadata: {}\nrange: 30000-32767\n",
	} {
		const ranges = "/registry/ranges/servicenodeports"
		kv, err := backend.Get(t.Context(), ranges)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backend.Update(t.Context(), ranges, []byte(taken), kv.Revision, 0); err != nil {
			t.Fatal(err)
		}
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30000 + int32(i)}}}}
		if _, err := c.Create(t.Context(), service, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "already allocated") {
			t.Errorf("the port that is taken: %v", err)
		}
		service.Spec.Ports[0].NodePort = 31000 + int32(i)
		if _, err := c.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Get(t.Context(), service.Name, metav1.GetOptions{}); err != nil || got.Spec.Ports[0].NodePort != 31000+int32(i) {
			t.Errorf("the service that was stored: %v, %v", got, err)
		}
	}
	all, err := backend.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/"})
	if err != nil {
		t.Fatal(err)
	}
	for prefix, kind := range map[string][2]string{
		"services/specs/default/": {"Service", "v1"}, "leases/kube-system/apiserver-": {"Lease", "coordination.k8s.io/v1"},
		"ranges/servicenodeports": {"RangeAllocation", "v1"}, "masterleases/": {"Endpoints", "v1"}, "namespaces/": {"Namespace", "v1"},
	} {
		want, found := strings.NewReplacer("KIND", kind[0], "VERSION", kind[1]).Replace(begin), false
		for _, kv := range all.Items {
			if strings.HasPrefix(kv.Key, "/registry/"+prefix) {
				found = true
				if !bytes.HasPrefix(kv.Value, []byte(want)) || !bytes.HasSuffix(kv.Value, []byte("\n")) {
					t.Errorf("%s is stored as %.80q", kv.Key, kv.Value)
				}
			}
		}
		if !found {
			t.Errorf("nothing is stored below %s", prefix)
		}
	}
}
