package serviceaccount

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

const issuerURL = "https://issuer"

// objects are keyed by kind and name. All are in namespace n.
type objects map[string]metav1.Object

func (o objects) get(key string) (metav1.Object, error) {
	if found := o[key]; found != nil {
		return found, nil
	}
	kind, name, _ := strings.Cut(key, "/")
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func (o objects) GetServiceAccount(_ context.Context, _, name string) (*corev1.ServiceAccount, error) {
	found, err := o.get("serviceaccounts/" + name)
	if err != nil {
		return nil, err
	}
	return found.(*corev1.ServiceAccount), nil
}

func (o objects) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	found, err := o.get("pods/" + name)
	if err != nil {
		return nil, err
	}
	return found.(*corev1.Pod), nil
}

func (o objects) GetSecret(_ context.Context, _, name string) (*corev1.Secret, error) {
	found, err := o.get("secrets/" + name)
	if err != nil {
		return nil, err
	}
	return found.(*corev1.Secret), nil
}

func (o objects) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	found, err := o.get("nodes/" + name)
	if err != nil {
		return nil, err
	}
	return found.(*corev1.Node), nil
}

func named(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID(uid)}
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func public(t testing.TB, keys ...crypto.Signer) StaticKeys {
	t.Helper()
	var all []PublicKey
	for _, k := range keys {
		id, err := keyID(k.Public())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, PublicKey{ID: id, Key: k.Public()})
	}
	return all
}

func bound() Request {
	return Request{Namespace: "n", Account: Ref{"sa", "1"}, Audiences: []string{"api", "vault"}, Lifetime: time.Hour}
}

// The audience is a list, even if there is one: some consumers do not accept a string.
func TestAudienceIsList(t *testing.T) {
	signer, err := NewSigner(rsaKey(t))
	if err != nil {
		t.Fatal(err)
	}
	r := bound()
	r.Audiences = []string{"api"}
	token, _, err := NewIssuer(issuerURL, signer).Issue(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct{ Aud []string }
	if err := json.Unmarshal(payload, &claims); err != nil || !slices.Equal(claims.Aud, r.Audiences) {
		t.Errorf("%s: %v", payload, err)
	}
}

func TestBoundTokens(t *testing.T) {
	key, other := rsaKey(t), rsaKey(t)
	store := objects{
		"serviceaccounts/sa": &corev1.ServiceAccount{ObjectMeta: named("sa", "1")},
		"pods/p":             &corev1.Pod{ObjectMeta: named("p", "2")},
		"secrets/s":          &corev1.Secret{ObjectMeta: named("s", "3")},
		"nodes/m":            &corev1.Node{ObjectMeta: named("m", "4")},
	}
	a := NewAuthenticator(Config{Issuers: []string{issuerURL, "https://old"}, Keys: public(t, other, key), Audiences: []string{"api"}, Getter: store})
	now := time.Now()
	a.now = func() time.Time { return now }
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		issuer string
		key    crypto.Signer
		change func(*Request)
		ctx    context.Context
		later  time.Duration
		err    string // "-" is no opinion
		extra  []string
	}{
		{name: "plain"},
		{name: "old issuer", issuer: "https://old"},
		{name: "pod on a node", change: func(r *Request) { r.Pod, r.Node = &Ref{"p", "2"}, &Ref{"m", "4"} }, extra: []string{podNameKey, podUIDKey, user.NodeNameKey, nodeUIDKey}},
		{name: "secret", change: func(r *Request) { r.Secret = &Ref{"s", "3"} }},
		{name: "node", change: func(r *Request) { r.Node = &Ref{"m", "4"} }, extra: []string{user.NodeNameKey, nodeUIDKey}},
		{name: "asked for vault", ctx: authentication.WithAudiences(ctx, []string{"x", "vault"})},
		{name: "other audience", ctx: authentication.WithAudiences(ctx, []string{"x"}), err: `token audiences ["api" "vault"] is invalid for the target audiences ["x"]`},
		{name: "not for us", change: func(r *Request) { r.Audiences = []string{"vault"} }, err: `token audiences ["vault"] is invalid for the target audiences ["api"]`},
		{name: "signed by a clock that is ahead", later: -30 * time.Second},
		{name: "not yet for two minutes", later: -2 * time.Minute, err: "service account token is not valid yet"},
		{name: "expired", later: 2 * time.Hour, err: "service account token has expired"},
		{name: "not yet", later: -time.Hour, err: "service account token is not valid yet"},
		{name: "other issuer", issuer: "https://x", err: "-"},
		{name: "other key", key: rsaKey(t), err: "invalid signature, no keys found"},
		{name: "account is another", change: func(r *Request) { r.Account.UID = "9" }, err: "service account token has been invalidated"},
		{name: "account is gone", change: func(r *Request) { r.Account.Name = "x" }, err: `serviceaccounts "x" not found`},
		{name: "pod is gone", change: func(r *Request) { r.Pod = &Ref{"q", "2"} }, err: "service account token has been invalidated"},
		{name: "secret is another", change: func(r *Request) { r.Secret = &Ref{"s", "9"} }, err: "service account token has been invalidated"},
		{name: "node is another", change: func(r *Request) { r.Node = &Ref{"m", "9"} }, err: "service account token has been invalidated"},
	} {
		if c.issuer == "" {
			c.issuer = issuerURL
		}
		if c.key == nil {
			c.key = key
		}
		if c.ctx == nil {
			c.ctx = ctx
		}
		signer, err := NewSigner(c.key)
		if err != nil {
			t.Fatal(err)
		}
		issuer := NewIssuer(c.issuer, signer)
		r := bound()
		if c.change != nil {
			c.change(&r)
		}
		token, id, err := issuer.Issue(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		now = time.Now().Add(c.later)
		for range 2 { // the second time from memory
			response, err := a.AuthenticateToken(c.ctx, token)
			switch {
			case c.err == "-":
				if response != nil || err != nil {
					t.Errorf("%s: %v %v", c.name, response, err)
				}
			case c.err != "":
				if response != nil || err == nil || err.Error() != c.err {
					t.Errorf("%s: %v %v", c.name, response, err)
				}
			case err != nil:
				t.Errorf("%s: %v", c.name, err)
			default:
				u := response.User
				if u.Name != "system:serviceaccount:n:sa" || u.UID != "1" || !reflect.DeepEqual(u.Groups, []string{"system:serviceaccounts", "system:serviceaccounts:n"}) ||
					u.Extra[user.CredentialIDKey][0] != "JTI="+id || len(u.Extra) != 1+len(c.extra) {
					t.Errorf("%s: %+v", c.name, u)
				}
				for _, k := range c.extra {
					if len(u.Extra[k]) != 1 {
						t.Errorf("%s: no %s in %v", c.name, k, u.Extra)
					}
				}
			}
		}
	}
}

func TestDeletionRevokes(t *testing.T) {
	key := rsaKey(t)
	pod := &corev1.Pod{ObjectMeta: named("p", "2")}
	store := objects{"serviceaccounts/sa": &corev1.ServiceAccount{ObjectMeta: named("sa", "1")}, "pods/p": pod}
	a := NewAuthenticator(Config{Issuers: []string{issuerURL}, Keys: public(t, key), Audiences: []string{"api"}, Getter: store})
	signer, err := NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	issuer := NewIssuer(issuerURL, signer)
	r := bound()
	r.Pod = &Ref{"p", "2"}
	token, _, err := issuer.Issue(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	accepted := func() bool {
		response, _ := a.AuthenticateToken(context.Background(), token)
		return response != nil
	}
	if !accepted() {
		t.Fatal("a valid token is rejected")
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if !accepted() {
		t.Error("a pod that shuts down needs its token")
	}
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(-2 * time.Minute)}
	if accepted() {
		t.Error("a token of a deleted pod is accepted after the grace period")
	}
	pod.DeletionTimestamp = nil
	delete(store, "serviceaccounts/sa")
	if accepted() {
		t.Error("a token of a deleted account is accepted")
	}
}

func TestForgedTokens(t *testing.T) {
	key := rsaKey(t)
	a := NewAuthenticator(Config{Issuers: []string{issuerURL}, Keys: public(t, key), Audiences: []string{"api"}, Getter: objects{
		"serviceaccounts/sa": &corev1.ServiceAccount{ObjectMeta: named("sa", "1")},
	}})
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	payload := encode(`{"iss":"https://issuer","aud":["api"],"sub":"system:serviceaccount:n:sa","exp":4102444800,"kubernetes.io":{"namespace":"n","serviceaccount":{"name":"sa","uid":"1"}}}`)
	// The public key as a shared secret.
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	shared, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: der}, nil)
	if err != nil {
		t.Fatal(err)
	}
	hmac, err := jwt.Signed(shared).Claims(map[string]any{"iss": issuerURL, "aud": []string{"api"}}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{
		"":          "",
		"..":        "",
		"a.b":       "",
		"a.b.c":     "",
		"a.b.c.d":   "",
		"%.%.%":     "",
		"\x00.\xff": "",
		encode(`{"alg":"none"}`) + "." + payload + ".":                          jose.ErrCryptoFailure.Error(),
		encode(`{"alg":"RS256"}`) + "." + payload + "." + encode("signature"):   jose.ErrCryptoFailure.Error(),
		encode(`{"alg":"RS256","kid":"x"}`) + "." + payload + "." + encode("s"): "invalid signature, no keys found",
		hmac: jose.ErrCryptoFailure.Error(),
	} {
		response, err := a.AuthenticateToken(context.Background(), token)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if response != nil || got != want {
			t.Errorf("%q: %v %q, want %q", token, response, got, want)
		}
	}
}

func FuzzAuthenticateToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add(".eyJpc3MiOiJodHRwczovL2lzc3VlciJ9.")
	a := NewAuthenticator(Config{Issuers: []string{issuerURL}, Keys: public(f, rsaKey(f)), Getter: objects{}})
	f.Fuzz(func(t *testing.T, token string) {
		if response, _ := a.AuthenticateToken(context.Background(), token); response != nil {
			t.Errorf("%q is accepted", token)
		}
	})
}

func TestLegacyTokens(t *testing.T) {
	key := rsaKey(t)
	alg := jose.SigningKey{Algorithm: jose.RS256, Key: key}
	signer, err := jose.NewSigner(alg, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(legacyClaims{
		Claims:  jwt.Claims{Issuer: LegacyIssuer, Subject: "system:serviceaccount:n:sa"},
		Account: "sa", UID: "1", Secret: "s", Namespace: "n",
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: named("s", "3"), Data: map[string][]byte{"token": []byte(token)}}
	secret.Namespace = "n"
	var recorded []string
	record := func(_ context.Context, namespace, name, day string) error {
		recorded = append(recorded, namespace+"/"+name+" "+day)
		return nil
	}
	a := NewAuthenticator(Config{Issuers: []string{issuerURL}, Keys: public(t, key), Audiences: []string{"api"}, Lookup: true, RecordUse: record, Getter: objects{
		"serviceaccounts/sa": &corev1.ServiceAccount{ObjectMeta: named("sa", "1")}, "secrets/s": secret,
	}})
	if response, err := a.AuthenticateToken(context.Background(), token); err != nil || response.User.UID != "1" || response.Audiences[0] != "api" {
		t.Errorf("%+v %v", response, err)
	}
	today := time.Now().UTC().Format(time.DateOnly)
	if want := []string{"n/s " + today}; !reflect.DeepEqual(recorded, want) {
		t.Errorf("%v is recorded", recorded)
	}
	if _, err := a.AuthenticateToken(context.Background(), token); err != nil || len(recorded) != 1 {
		t.Errorf("%v: recorded again: %v", err, recorded)
	}
	a.now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	if _, err := a.AuthenticateToken(context.Background(), token); err != nil || len(recorded) != 2 {
		t.Errorf("%v: not recorded the next day: %v", err, recorded)
	}
	a.now = func() time.Time { return time.Now().Add(48 * time.Hour) }
	secret.Labels = map[string]string{InvalidSinceLabel: today}
	if response, err := a.AuthenticateToken(context.Background(), token); response != nil || err == nil || !strings.Contains(err.Error(), "has been marked invalid") {
		t.Errorf("a token that is marked invalid: %v %v", response, err)
	}
	if len(recorded) != 3 {
		t.Errorf("the use of a token that is marked invalid is not recorded: %v", recorded)
	}
	secret.Labels = nil
	secret.Data["token"] = []byte("another")
	if response, err := a.AuthenticateToken(context.Background(), token); response != nil || err == nil {
		t.Errorf("a token that the secret does not hold: %v %v", response, err)
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	r := rsaKey(t)
	e, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkix, err := x509.MarshalPKIXPublicKey(r.Public())
	pub := write("pub", "PUBLIC KEY", pkix, err)
	pkcs1 := write("pkcs1", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r), nil)
	der, err := x509.MarshalECPrivateKey(e)
	ec := write("ec", "EC PRIVATE KEY", der, err)
	keys, err := ReadPublicKeys(pub, pkcs1, ec)
	if err != nil || len(keys) != 3 || keys[0].ID != keys[1].ID || keys[2].ID == keys[0].ID {
		t.Errorf("%v %v", keys, err)
	}
	signer, err := ReadPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner(signer); err != nil {
		t.Error(err)
	}
	if _, err := ReadPrivateKey(pub); err == nil {
		t.Error("a public key signs")
	}
	if _, err := ParsePublicKeys([]byte("rubbish")); err == nil {
		t.Error("rubbish is taken for a key")
	}
}

func TestDiscovery(t *testing.T) {
	d, err := NewDiscovery(issuerURL, "", "host:6443", public(t, rsaKey(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ mime, body string }{
		ConfigurationPath: {"application/json", `{"issuer":"https://issuer","jwks_uri":"https://host:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["RS256"]}`},
		JWKSPath:          {"application/jwk-set+json", `"alg":"RS256"`},
	}
	for _, document := range d.Services() {
		w, want := httptest.NewRecorder(), want[document.Root()]
		route := document.Routes("")[0]
		route.Handler(w, httptest.NewRequest(http.MethodGet, document.Root(), nil))
		if w.Code != 200 || w.Header().Get("Content-Type") != want.mime || !strings.Contains(w.Body.String(), want.body) {
			t.Errorf("%s: %d %v %s", document.Root(), w.Code, w.Header(), w.Body)
		}
		if !slices.Equal(route.Produces, []string{want.mime}) {
			t.Errorf("%s produces %q", document.Root(), route.Produces)
		}
	}
	for _, bad := range []string{"http://x", "https://x?y", "kubernetes"} {
		if _, err := NewDiscovery(bad, "", "h", StaticKeys{}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func BenchmarkAuthenticateToken(b *testing.B) {
	key := rsaKey(b)
	a := NewAuthenticator(Config{Issuers: []string{issuerURL}, Keys: public(b, key), Audiences: []string{"api"}, Getter: objects{
		"serviceaccounts/sa": &corev1.ServiceAccount{ObjectMeta: named("sa", "1")},
	}})
	signer, err := NewSigner(key)
	if err != nil {
		b.Fatal(err)
	}
	token, _, err := NewIssuer(issuerURL, signer).Issue(b.Context(), bound())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.AuthenticateToken(context.Background(), token); err != nil {
			b.Fatal(err)
		}
	}
}
