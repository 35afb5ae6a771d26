package external

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"
)

const (
	// callTimeout limits a call to the signer.
	callTimeout = 10 * time.Second
	// startTimeout is how long Dial waits for the signer.
	startTimeout = time.Minute
	// shortestLifetime is the minimum for the token lifetime that a signer allows.
	shortestLifetime = 600 * time.Second
	maxKeyID         = 1024
	maxMessage       = 4 << 20
	// reconnectWithin is the longest pause between attempts to connect. It is short because local attempts are
	// cheap.
	reconnectWithin = 3 * time.Second
)

// algorithms are the accepted signature algorithms.
var algorithms = []string{string(jose.RS256), string(jose.ES256), string(jose.ES384), string(jose.ES512)}

// Signer is a connection to an external signer. It implements serviceaccount.Signer and serviceaccount.Keys.
type Signer struct {
	*Keys
	// MaxLifetime is the longest token lifetime that the signer allows.
	MaxLifetime time.Duration

	client     externaljwtv1.ExternalJWTSignerClient
	connection *grpc.ClientConn
	metrics    *Metrics
}

// Dial connects to a Unix socket ("@name" is an abstract one) and reads the signer's metadata and keys. It
// returns an error if the signer does not respond within a minute or is misconfigured.
func Dial(ctx context.Context, path string, m *Metrics) (*Signer, error) {
	target := "unix:" + path
	if name, abstract := strings.CutPrefix(path, "@"); abstract {
		target = "unix-abstract:" + name
	}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), grpc.WithDefaultCallOptions(grpc.WaitForReady(true),
			grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6,
			MaxDelay: reconnectWithin}, MinConnectTimeout: callTimeout}),
		grpc.WithUnaryInterceptor(m.intercept))
	if err != nil {
		return nil, err
	}
	s := &Signer{client: externaljwtv1.NewExternalJWTSignerClient(connection), connection: connection, metrics: m}
	s.Keys = newKeys(s.client, m)
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return s, nil
}

func (s *Signer) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	metadata, err := s.client.Metadata(ctx, &externaljwtv1.MetadataRequest{})
	if err != nil {
		return fmt.Errorf("metadata of the external signer: %w", err)
	}
	s.MaxLifetime = seconds(metadata.GetMaxTokenExpirationSeconds())
	if s.MaxLifetime < shortestLifetime {
		return fmt.Errorf("the external signer allows a token lifetime of %v, which must be at least %v", s.MaxLifetime,
			shortestLifetime)
	}
	return s.fetch(ctx)
}

// seconds converts seconds to a duration, limited to the longest one.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}

// Run refreshes the keys until ctx ends.
func (s *Signer) Run(ctx context.Context) { s.refresh(ctx) }

// Close closes the connection. Calls in progress fail.
func (s *Signer) Close() error { return s.connection.Close() }

// Sign implements serviceaccount.Signer.
func (s *Signer) Sign(ctx context.Context, claims []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	payload := base64.RawURLEncoding.EncodeToString(claims)
	signed, err := s.client.Sign(ctx, &externaljwtv1.SignJWTRequest{Claims: payload})
	if err != nil {
		return "", fmt.Errorf("the external signer failed to sign: %w", err)
	}
	if err := s.checkHeader(ctx, signed.GetHeader()); err != nil {
		return "", fmt.Errorf("while validating header: %w", err)
	}
	if signed.GetSignature() == "" {
		return "", errors.New("the external signer returned no signature")
	}
	return signed.GetHeader() + "." + payload + "." + signed.GetSignature(), nil
}

// checkHeader validates a token's header. It must contain only alg, kid and typ, and the key must be in the
// discovery documents.
func (s *Signer) checkHeader(ctx context.Context, encoded string) error {
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
		Type      string `json:"typ"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&header); err != nil {
		return err
	}
	switch {
	case header.Type != "JWT":
		return fmt.Errorf("bad type %q, not JWT", header.Type)
	case !slices.Contains(algorithms, header.Algorithm):
		return fmt.Errorf("bad signing algorithm %q, not one of %v", header.Algorithm, algorithms)
	case header.KeyID == "":
		return errors.New("kid is missing")
	case len(header.KeyID) > maxKeyID:
		return fmt.Errorf("kid is longer than %d characters", maxKeyID)
	}
	// An unknown key may become known before the token is used. The key ID comes from the signer, so clients
	// cannot cause fetches here.
	if keys := s.find(ctx, header.KeyID, 0); len(keys) > 0 && keys[0].Unpublished {
		return fmt.Errorf("key used for signing JWT (kid: %s) is excluded from OIDC discovery docs", header.KeyID)
	}
	return nil
}
