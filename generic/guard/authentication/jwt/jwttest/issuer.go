package jwttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// Issuer is a running issuer.
type Issuer struct {
	// URL identifies the issuer. CA is the PEM of its certificate authority.
	URL, CA string
	// DiscoveryURL is a second URL of the discovery document.
	DiscoveryURL string
	// Fetched counts requests for the keys.
	Fetched atomic.Int64

	t    testing.TB
	mux  *http.ServeMux
	down atomic.Bool

	mu   sync.Mutex
	keys []jose.JSONWebKey // private keys, the newest last
}

// New starts an issuer that stops when the test ends.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, mux: http.NewServeMux()}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		i.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	i.URL, i.DiscoveryURL = server.URL, server.URL+"/elsewhere/configuration"
	i.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	i.mux.HandleFunc("/.well-known/openid-configuration", i.discovery)
	i.mux.HandleFunc("/elsewhere/configuration", i.discovery)
	i.mux.HandleFunc("/keys", i.jwks)
	i.Rotate()
	return i
}

// Handle adds a handler for a path.
func (i *Issuer) Handle(path string, h http.HandlerFunc) { i.mux.HandleFunc(path, h) }

// SetDown makes all requests fail, or succeed again.
func (i *Issuer) SetDown(down bool) { i.down.Store(down) }

// Rotate replaces the signing key by a new one.
func (i *Issuer) Rotate() {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	id := fmt.Sprint("key-", time.Now().UnixNano())
	i.keys = []jose.JSONWebKey{{Key: key, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}}
}

// Key returns the current private key.
func (i *Issuer) Key() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// PublicKey returns the public key of Key.
func (i *Issuer) PublicKey() jose.JSONWebKey {
	key := i.Key()
	return key.Public()
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
}

func (i *Issuer) jwks(w http.ResponseWriter, _ *http.Request) {
	i.Fetched.Add(1)
	_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.PublicKey()}})
}

// Claims returns claims that are valid for an hour, overridden by others. A nil value removes a claim.
func (i *Issuer) Claims(others map[string]any) map[string]any {
	c := map[string]any{"iss": i.URL, "aud": "triplane", "sub": "sub-1", "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix()}
	maps.Copy(c, others)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Token signs Claims(others) with the current key.
func (i *Issuer) Token(others map[string]any) string {
	i.t.Helper()
	return Sign(i.t, jose.ES256, i.Key(), i.Claims(others))
}

// Sign signs claims with a key: a jose.JSONWebKey, crypto.Signer or shared secret.
func Sign(t testing.TB, alg jose.SignatureAlgorithm, key crypto.PrivateKey, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
