// An external signer of tokens, and a KMS plugin that encrypts.

package serving

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/guard/authentication/serviceaccount/external/externaltest"
	"triplane.dev/generic/storage/encryption/kmstest"
)

// shortDir is a directory whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// says asks with a token who it is.
func says(t *testing.T, s *harness.Server, token string) error {
	t.Helper()
	config := rest.AnonymousClientConfig(s.Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.RESTClient().Get().AbsPath("/api").Do(t.Context()).Error()
}

// path is the answer to the administrator, and its status.
func path(t *testing.T, s *harness.Server, p string) (string, int) {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	code := 0
	b, _ := client.RESTClient().Get().AbsPath(p).Do(ctx).StatusCode(&code).Raw() // the body of an error is wanted, too
	return string(b), code
}

func keyOf(t *testing.T, token string) string {
	t.Helper()
	head, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(head)
}

// TestExternalSigner has another process sign service account tokens.
func TestExternalSigner(t *testing.T) {
	signer := &externaltest.Process{Seconds: 3600, Hint: 3600}
	s := harness.Start(t, "--service-account-signing-endpoint="+signer.Start(t),
		"--service-account-issuer=https://issuer.example")
	s.Kubectl(t, "create", "serviceaccount", "sa")
	create := func() (string, error) {
		token, err := s.TryKubectl(t, "", "create", "token", "sa", "--duration=600s")
		return strings.TrimSpace(token), err
	}
	first, err := create()
	if err != nil || !strings.Contains(keyOf(t, first), `"kid":"one"`) {
		t.Fatal(first, err)
	}
	if err := says(t, s, first); err != nil {
		t.Error(err)
	}
	if discovery, code := path(t, s, "/.well-known/openid-configuration"); code != http.StatusOK ||
		!strings.Contains(discovery, `"issuer":"https://issuer.example"`) || !strings.Contains(discovery, `"ES256"`) {
		t.Errorf("%d %s", code, discovery)
	}
	if keys, code := path(t, s, "/openid/v1/jwks"); code != http.StatusOK || !strings.Contains(keys, `"kid":"one"`) {
		t.Errorf("%d %s", code, keys)
	}

	signer.Rotate("two")
	second, err := create()
	if err != nil || !strings.Contains(keyOf(t, second), `"kid":"two"`) {
		t.Fatal(second, err)
	}
	// Unknown keys have the signer asked for its keys once a second.
	harness.Eventually(t, func() error { return says(t, s, second) })
	if err := says(t, s, first); err == nil {
		t.Error("a token of the key that is gone is accepted")
	}
	if keys, _ := path(t, s, "/openid/v1/jwks"); !strings.Contains(keys, `"kid":"two"`) ||
		strings.Contains(keys, `"kid":"one"`) {
		t.Error(keys)
	}

	signer.Fail(errors.New("the HSM is on fire"))
	if out, err := create(); err == nil || !strings.Contains(out, "failed to generate token") ||
		!strings.Contains(out, "the HSM is on fire") {
		t.Errorf("of a signer that fails: %v %s", err, out)
	}
	if err := says(t, s, second); err != nil {
		t.Errorf("tokens are not verified while the signer fails: %v", err)
	}
	signer.Fail(nil)
	if out, err := create(); err != nil {
		t.Errorf("%s, %v", out, err)
	}
	if text, _ := path(t, s, "/metrics"); !strings.Contains(text,
		`apiserver_externaljwt_sign_request_total{code="OK"}`) {
		t.Error("signatures are not counted")
	}
}

const kmsConfiguration = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: plugin, endpoint: "unix://%s"}
`

// TestKMSPlugin has a KMS plugin encrypt what etcd holds.
func TestKMSPlugin(t *testing.T) {
	dir := shortDir(t)
	socket, file := filepath.Join(dir, "kms"), filepath.Join(dir, "config.yaml")
	kmstest.Start(t, socket)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(kmsConfiguration, "%s", socket)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, "--encryption-provider-config="+file)
	s.Kubectl(t, "create", "secret", "generic", "hidden", "--from-literal=k=v")
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Restart(t) // which has to ask for the seed
	if got := s.Kubectl(t, "get", "secret", "hidden", "-o", "jsonpath={.data.k}"); got != "dg==" {
		t.Errorf("the secret is %q", got)
	}
	for check, want := range map[string]int{"/healthz": http.StatusOK, "/livez": http.StatusNotFound,
		"/readyz": http.StatusOK} {
		if body, code := path(t, s, check+"/kms-providers"); code != want {
			t.Errorf("%s: %d %s", check, code, body)
		}
	}
	text, _ := path(t, s, "/metrics")
	for _, want := range []string{
		`apiserver_envelope_encryption_key_id_hash_total{apiserver_id_hash="sha256:`, `apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds{apiserver_id_hash="sha256:`,
		`apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{apiserver_id_hash="sha256:`,
		`apiserver_envelope_encryption_dek_source_cache_size{provider_name="plugin"} 2`, "apiserver_storage_envelope_transformation_cache_misses_total 1",
		"apiserver_envelope_encryption_dek_cache_fill_percent 0.002", "apiserver_storage_data_key_generation_duration_seconds_count 1",
		`method_name="/v2.KeyManagementService/Decrypt",provider_name="plugin"`,
		`apiserver_storage_transformation_operations_total{resource="secrets",status="OK",transformation_type="from_storage",transformer_prefix="k8s:enc:kms:v2:plugin:"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}
