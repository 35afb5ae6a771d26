package external

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"

	"triplane/generic/authentication/serviceaccount"
)

// process is a signer behind a socket.
type process struct {
	externaljwtv1.UnimplementedExternalJWTSignerServer
	t       *testing.T
	seconds int64

	mu       sync.Mutex
	id       string
	key      *ecdsa.PrivateKey
	header   map[string]any // instead of a good one
	excluded bool
	hint     int64
	fetched  int
}

func (p *process) rotate(id string) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id, p.key = id, key
}

func (p *process) Metadata(context.Context, *externaljwtv1.MetadataRequest) (*externaljwtv1.MetadataResponse, error) {
	return &externaljwtv1.MetadataResponse{MaxTokenExpirationSeconds: p.seconds}, nil
}

func (p *process) FetchKeys(context.Context, *externaljwtv1.FetchKeysRequest) (*externaljwtv1.FetchKeysResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched++
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	return &externaljwtv1.FetchKeysResponse{
		DataTimestamp: timestamppb.Now(), RefreshHintSeconds: p.hint,
		Keys: []*externaljwtv1.Key{{KeyId: p.id, Key: der, ExcludeFromOidcDiscovery: p.excluded}},
	}, err
}

func (p *process) Sign(_ context.Context, r *externaljwtv1.SignJWTRequest) (*externaljwtv1.SignJWTResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	payload, err := base64.RawURLEncoding.DecodeString(r.Claims)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: crypto.Signer(p.key), KeyID: p.id}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return nil, err
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(token, ".")
	if p.header != nil {
		raw, _ := json.Marshal(p.header)
		parts[0] = base64.RawURLEncoding.EncodeToString(raw)
	}
	return &externaljwtv1.SignJWTResponse{Header: parts[0], Signature: parts[2]}, nil
}

// serve starts a process with a key "one" and returns its socket.
func serve(t *testing.T, p *process) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "signer") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p.t = t
	p.rotate("one")
	server := grpc.NewServer()
	externaljwtv1.RegisterExternalJWTSignerServer(server, p)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return path
}

func dial(t *testing.T, p *process) *Signer {
	t.Helper()
	s, err := Dial(t.Context(), serve(t, p), NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

// accounts is the one service account that there is.
type accounts struct{ serviceaccount.Getter }

func (accounts) GetServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa", UID: "1"}}, nil
}

func TestTokensAndRotation(t *testing.T) {
	p := &process{seconds: 3600, hint: 3600}
	s := dial(t, p)
	if s.MaxLifetime != time.Hour {
		t.Errorf("tokens live for %v", s.MaxLifetime)
	}
	const url = "https://issuer"
	issuer := serviceaccount.NewIssuer(url, s)
	a := serviceaccount.NewAuthenticator(serviceaccount.Config{Issuers: []string{url}, Keys: s, Audiences: []string{"api"}, Getter: accounts{}})
	issue := func() (string, error) {
		token, _, err := issuer.Issue(t.Context(), serviceaccount.Request{Namespace: "n", Account: serviceaccount.Ref{Name: "sa", UID: "1"}, Audiences: []string{"api"}, Lifetime: time.Hour})
		return token, err
	}
	accepted := func(token string) bool {
		response, _ := a.AuthenticateToken(t.Context(), token)
		return response != nil && response.User.Name == "system:serviceaccount:n:sa"
	}
	first, err := issue()
	if err != nil || !accepted(first) {
		t.Fatal(err)
	}
	p.rotate("two")
	var second string
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		// Unknown key ids cause a fetch a second at most.
		if second, err = issue(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if !accepted(second) {
		t.Error("a token of the new key is refused")
	}
	if accepted(first) {
		t.Error("a token of the key that is gone is accepted")
	}
	before := p.count()
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"invented","typ":"JWT"}`))
	_, rest, _ := strings.Cut(second, ".")
	begun := time.Now()
	for range 50 {
		if accepted(header + "." + rest) {
			t.Fatal("a token of an invented key is accepted")
		}
	}
	if n := p.count() - before; n > 2+int(time.Since(begun)/fetchedHolds) {
		t.Errorf("50 tokens with an invented key id had the keys fetched %d times", n)
	}
}

func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

func TestBadHeaders(t *testing.T) {
	p := &process{seconds: 3600, hint: 3600}
	s := dial(t, p)
	for want, header := range map[string]map[string]any{
		"unknown field":        {"alg": "ES256", "kid": "one", "typ": "JWT", "jku": "https://evil"},
		"typ is":               {"alg": "ES256", "kid": "one"},
		`alg "none"`:           {"alg": "none", "kid": "one", "typ": "JWT"},
		`alg "HS256"`:          {"alg": "HS256", "kid": "one", "typ": "JWT"},
		"kid is missing":       {"alg": "ES256", "typ": "JWT"},
		"kid is longer":        {"alg": "ES256", "kid": strings.Repeat("k", 1025), "typ": "JWT"},
		"none of the signer's": {"alg": "ES256", "kid": "other", "typ": "JWT"},
	} {
		p.mu.Lock()
		p.header = header
		p.mu.Unlock()
		if token, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s %v", want, token, err)
		}
	}
}

func TestExcludedKeysDoNotSign(t *testing.T) {
	s := dial(t, &process{seconds: 3600, hint: 3600, excluded: true})
	if _, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "excluded from discovery") {
		t.Error(err)
	}
	if d, err := serviceaccount.NewDiscovery("https://i", "", "h:1", s); err != nil {
		t.Error(err)
	} else if raw, err := d.JWKS(); err != nil || strings.Contains(string(raw), "one") {
		t.Errorf("%s %v", raw, err)
	}
}

func TestMisconfigured(t *testing.T) {
	for want, p := range map[string]*process{
		"at least 10m0s":       {seconds: 599, hint: 1},
		"refresh_hint_seconds": {seconds: 600},
	} {
		if _, err := Dial(t.Context(), serve(t, p), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, "/does/not/exist", nil); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
