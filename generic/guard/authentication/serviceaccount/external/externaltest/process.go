package externaltest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"
)

// Process is a signer on a Unix socket. Its fields must be set before Start.
type Process struct {
	externaljwtv1.UnimplementedExternalJWTSignerServer
	// Seconds is the longest token lifetime, Hint the refresh interval of the keys in seconds.
	Seconds, Hint int64
	// Excluded excludes the key from discovery.
	Excluded bool

	t       testing.TB
	mu      sync.Mutex
	id      string
	key     *ecdsa.PrivateKey
	header  map[string]any // replaces the valid header if not nil
	fetched int
	fails   error
}

// Rotate replaces the key.
func (p *Process) Rotate(id string) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id, p.key = id, key
}

// Exclude excludes the key from discovery.
func (p *Process) Exclude() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Excluded = true
}

// Metadata implements externaljwtv1.ExternalJWTSignerServer.
func (p *Process) Metadata(context.Context, *externaljwtv1.MetadataRequest) (*externaljwtv1.MetadataResponse, error) {
	return &externaljwtv1.MetadataResponse{MaxTokenExpirationSeconds: p.Seconds}, nil
}

// FetchKeys implements externaljwtv1.ExternalJWTSignerServer.
func (p *Process) FetchKeys(context.Context, *externaljwtv1.FetchKeysRequest) (*externaljwtv1.FetchKeysResponse,
	error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched++
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	return &externaljwtv1.FetchKeysResponse{
		DataTimestamp: timestamppb.Now(), RefreshHintSeconds: p.Hint,
		Keys: []*externaljwtv1.Key{{KeyId: p.id, Key: der, ExcludeFromOidcDiscovery: p.Excluded}},
	}, err
}

// Sign implements externaljwtv1.ExternalJWTSignerServer.
func (p *Process) Sign(_ context.Context, r *externaljwtv1.SignJWTRequest) (*externaljwtv1.SignJWTResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails != nil {
		return nil, p.fails
	}
	payload, err := base64.RawURLEncoding.DecodeString(r.Claims)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
		Key: jose.JSONWebKey{Key: crypto.Signer(p.key), KeyID: p.id}}, (&jose.SignerOptions{}).WithType("JWT"))
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

// Header replaces the header of signed tokens.
func (p *Process) Header(h map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.header = h
}

// Fail makes calls of Sign fail with err; nil makes them succeed again.
func (p *Process) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails = err
}

// Fetched returns how often the keys were fetched.
func (p *Process) Fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

// Start serves the process with the key "one" until the test ends. It returns the path of the socket.
func (p *Process) Start(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "signer") // the path of a socket must be short
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
	p.Rotate("one")
	server := grpc.NewServer()
	externaljwtv1.RegisterExternalJWTSignerServer(server, p)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return path
}
