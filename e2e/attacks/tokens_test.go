package attacks

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"triplane.dev/generic/guard/authentication/jwt/jwttest"
)

// bearing is the status of a request with a token, at a path that any authenticated
// user may read.
func (s *target) bearing(token, headers string) int {
	s.t.Helper()
	code, _, err := s.ask("GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\n"+headers+"\r\n", 20*time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

// Tokens that were not signed, or not by whom they name, or not for this server. The
// attacker, who has a token and the public keys of the issuer, would be anybody.
func TestForgedTokens(t *testing.T) {
	issuer, other := jwttest.New(t), jwttest.New(t)
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, []byte(issuer.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--oidc-issuer-url="+issuer.URL, "--oidc-client-id=triplane", "--oidc-ca-file="+ca,
		"--oidc-signing-algs=ES256")
	good := issuer.Token(nil)
	s.eventually("the issuer's tokens are accepted", 30*time.Second,
		func() bool { return s.bearing(good, "") == http.StatusOK })
	account := s.token("victim")
	for name, token := range forgeries(t, issuer, other, good) {
		if code := s.bearing(token, ""); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
	for name, token := range map[string]string{
		"the issuer signs for a service account": jwttest.Sign(t, jose.ES256, issuer.Key(),
			issuer.Claims(map[string]any{"iss": "https://kubernetes.default.svc.cluster.local",
				"sub": "system:serviceaccount:kube-system:default"})),
		"the issuer signs as a token in a Secret": jwttest.Sign(t, jose.ES256, issuer.Key(),
			issuer.Claims(map[string]any{"iss": "kubernetes/serviceaccount",
				"sub": "system:serviceaccount:default:victim"})),
		"a service account's with alg none": unsigned(account),
		"a service account's for another issuer": replaceClaims(t, account,
			map[string]any{"iss": issuer.URL, "aud": "triplane"}),
		"a service account's, longer": replaceClaims(t, account, map[string]any{"exp": 1 << 40}),
	} {
		if code := s.bearing(token, ""); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
	for _, headers := range []string{"Impersonate-User: admin\r\n", "Impersonate-User: x\r\nImpersonate-Group: system:masters\r\n", "impersonate-user: system:node:x\r\n",
		"Impersonate-User: x\r\nimpersonate-extra-%2e: v\r\n", "Impersonate-Group: system:masters\r\n",
		"Impersonate-Uid: 0\r\n"} {
		if code := s.bearing(good, headers); code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("%q: %d", headers, code)
		}
	}
}

func forgeries(t *testing.T, issuer, other *jwttest.Issuer, good string) map[string]string {
	t.Helper()
	key := issuer.Key()
	public, err := x509.MarshalPKIXPublicKey(issuer.PublicKey().Key)
	if err != nil {
		t.Fatal(err)
	}
	stolen := other.Key()
	stolen.KeyID = key.KeyID
	return map[string]string{
		"alg none":              unsigned(good),
		"public key as secret":  jwttest.Sign(t, jose.HS256, public, issuer.Claims(nil)),
		"kid of another's key":  jwttest.Sign(t, jose.ES256, stolen, issuer.Claims(nil)),
		"another issuer's key":  jwttest.Sign(t, jose.ES256, other.Key(), issuer.Claims(nil)),
		"another issuer's name": jwttest.Sign(t, jose.ES256, key, other.Claims(nil)),
		"another audience":      issuer.Token(map[string]any{"aud": "somebody"}),
		"expired":               issuer.Token(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"not yet valid":         issuer.Token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"changed":               replaceClaims(t, good, map[string]any{"sub": "admin"}),
		"huge":                  replaceClaims(t, good, map[string]any{"x": strings.Repeat("y", 256<<10)}),
		"deep": part(good, 0) + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[",
			100000))) + "." + part(good, 2),
	}
}

func part(token string, n int) string { return strings.Split(token, ".")[n] }

func unsigned(token string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(token, 1) + "."
}

// replaceClaims keeps header and signature.
func replaceClaims(t *testing.T, token string, others map[string]any) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(part(token, 1))
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	for k, v := range others {
		claims[k] = v
	}
	if raw, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	return part(token, 0) + "." + base64.RawURLEncoding.EncodeToString(raw) + "." + part(token, 2)
}

// Tokens with invented key ids. The attacker would have the server ask the issuer for
// its keys as often as he likes.
func TestInventedKeyIDs(t *testing.T) {
	issuer := jwttest.New(t)
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, []byte(issuer.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--oidc-issuer-url="+issuer.URL, "--oidc-client-id=triplane", "--oidc-ca-file="+ca,
		"--oidc-signing-algs=ES256")
	s.eventually("the issuer's tokens are accepted", 30*time.Second,
		func() bool { return s.bearing(issuer.Token(nil), "") == http.StatusOK })
	before, begun := issuer.Fetched.Load(), time.Now()
	key := issuer.Key()
	for i := range 100 {
		key.KeyID = fmt.Sprint("invented", i)
		if code := s.bearing(jwttest.Sign(t, jose.ES256, key, issuer.Claims(nil)),
			""); code != http.StatusUnauthorized {
			t.Fatal(code)
		}
	}
	if n := issuer.Fetched.Load() - before; n > 2+int64(time.Since(begun)/time.Second) {
		t.Errorf("100 tokens had the keys fetched %d times in %v", n, time.Since(begun))
	}
}
