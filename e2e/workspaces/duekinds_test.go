// Work that is due of each kind: old certificate requests, unused tokens, and garbage.
package workspaces

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// stored returns the keys and values of the workspace a whose keys contain a text.
func stored(t *testing.T, backend storage.Backend, part string) (found []storage.KeyValue) {
	t.Helper()
	all, err := backend.Range(bounded(t), storage.RangeOptions{Prefix: "/registry/.workspaces/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range all.Items {
		if strings.Contains(kv.Key, "/a.") && strings.Contains(kv.Key, part) {
			found = append(found, kv)
		}
	}
	return found
}

// rewrite changes a stored value, as time or another replica does.
func rewrite(t *testing.T, backend storage.Backend, kv storage.KeyValue, value string) {
	t.Helper()
	if _, err := backend.Update(bounded(t), kv.Key, []byte(value), kv.Revision, 0); err != nil {
		t.Fatal(err)
	}
}

// startTidy starts a server whose workspaces sleep after a second, and whose unused tokens are deleted after later.
func startTidy(t *testing.T, backend storage.Backend) *testserver.Server {
	t.Helper()
	return testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers(), testserver.WithOptions(func(o *triplane.Options) {
		o.Workspaces.IdleTimeout, o.Etcd.Backend, o.Etcd.Memory = time.Second, backend, false
		o.Controllers.LegacyTokenCleanUpPeriod, o.Etcd.MediaType = later, "application/json"
	}))
}

// An unapproved CertificateSigningRequest is deleted after a day, even if the workspace sleeps.
func TestDueCertificateRequests(t *testing.T) {
	backend := memory.New()
	t.Run("before", func(t *testing.T) {
		s := startTidy(t, backend)
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		if _, err := clientOf(t, s.InWorkspace("a")).CertificatesV1().CertificateSigningRequests().Create(bounded(t), &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: certificatesv1.CertificateSigningRequestSpec{Request: certificateRequest(t),
				SignerName: "example.com/s", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
	})
	var due struct{ At time.Time }
	at := stored(t, backend, "/.due/")
	if len(at) != 1 || json.Unmarshal(at[0].Value, &due) != nil || time.Until(due.At) < 23*time.Hour || time.Until(due.At) > 24*time.Hour {
		t.Fatalf("the work is due at %v", at)
	}
	rewrite(t, backend, at[0], fmt.Sprintf(`{"at":%q}`, time.Now().Format(time.RFC3339)))
	request := stored(t, backend, "/certificatesigningrequests/old")
	var object map[string]any
	if len(request) != 1 || json.Unmarshal(request[0].Value, &object) != nil {
		t.Fatalf("the request is %v", request)
	}
	object["metadata"].(map[string]any)["creationTimestamp"] = time.Now().Add(-25 * time.Hour).UTC().Format(time.RFC3339)
	changed, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, backend, request[0], string(changed))
	startTidy(t, backend)
	await(t, "the deletion", func() (bool, error) { return len(stored(t, backend, "/certificatesigningrequests/")) == 0, nil })
}

func certificateRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "u"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw})
}

// The unused token of a Secret is marked as invalid, and deleted after another period, each time by a wake.
func TestDueTokens(t *testing.T) {
	backend := memory.New()
	s := startTidy(t, backend)
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	ctx, c := bounded(t), clientOf(t, s.InWorkspace("a"))
	secret := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Name: "unused",
		Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}}}
	if _, err := c.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"},
		Secrets: []corev1.ObjectReference{{Name: "unused"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	marked := func() bool {
		found := stored(t, backend, "/secrets/default/unused")
		return len(found) == 1 && strings.Contains(string(found[0].Value), "kubernetes.io/legacy-token-invalid-since")
	}
	await(t, "sleep before the mark", func() (bool, error) { return state(t, s, "asleep") == "1" && !marked(), nil })
	await(t, "the mark", func() (bool, error) { return marked(), nil })
	await(t, "sleep before the deletion", func() (bool, error) { return state(t, s, "asleep") == "1" && marked(), nil })
	await(t, "the deletion", func() (bool, error) { return len(stored(t, backend, "/secrets/default/unused")) == 0, nil })
}

// dependents is how many objects an owner has.
const dependents = 200

// own creates an owner with its dependents.
func own(t *testing.T, c *kubernetes.Clientset) {
	t.Helper()
	ctx, maps := bounded(t), c.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(ctx, settings("owner"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range dependents {
		m := settings(fmt.Sprintf("owned-%d", i))
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}
		if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Dependents are deleted whose owner was deleted last before the workspace slept, or before the server stopped.
func TestDueGarbage(t *testing.T) {
	for name, sleeps := range map[string]bool{"sleep": true, "stop": false} {
		t.Run(name, func(t *testing.T) {
			backend := memory.New()
			t.Run("before", func(t *testing.T) {
				s := startTidy(t, backend)
				create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
				c := clientOf(t, s.InWorkspace("a"))
				own(t, c)
				if err := c.CoreV1().ConfigMaps("default").Delete(bounded(t), "owner", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				if sleeps {
					await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
				}
			})
			left := len(stored(t, backend, "/configmaps/default/owned-"))
			if t.Logf("%d dependents are left", left); sleeps && left > 0 {
				t.Errorf("the workspace sleeps with %d dependents", left)
			}
			startTidy(t, backend)
			await(t, "the deletion", func() (bool, error) { return len(stored(t, backend, "/configmaps/default/owned-")) == 0, nil })
		})
	}
}
