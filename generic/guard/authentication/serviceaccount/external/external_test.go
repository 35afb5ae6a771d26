package external

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/guard/authentication/serviceaccount/external/externaltest"
)

func dial(t *testing.T, p *externaltest.Process) *Signer {
	t.Helper()
	s, err := Dial(t.Context(), p.Start(t), NewMetrics(prometheus.NewRegistry()))
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// accounts is a Getter with one service account.
type accounts struct{ serviceaccount.Getter }

func (accounts) GetServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa", UID: "1"}}, nil
}

func TestTokensAndRotation(t *testing.T) {
	p := &externaltest.Process{Seconds: 3600, Hint: 3600}
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
	p.Rotate("two")
	second, err := issue()
	if err != nil {
		t.Fatal(err)
	}
	// Unknown key IDs cause at most one fetch per second.
	for end := time.Now().Add(30 * time.Second); !accepted(second); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a token of the new key is rejected")
		}
	}
	if accepted(first) {
		t.Error("a token of a removed key is accepted")
	}
	before := p.Fetched()
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"invented","typ":"JWT"}`))
	_, rest, _ := strings.Cut(second, ".")
	begun := time.Now()
	for range 50 {
		if accepted(header + "." + rest) {
			t.Fatal("a token of an invented key is accepted")
		}
	}
	if n := p.Fetched() - before; n > 2+int(time.Since(begun)/fetchInterval) {
		t.Errorf("50 tokens with an invented key id had the keys fetched %d times", n)
	}
}

func TestBadHeaders(t *testing.T) {
	p := &externaltest.Process{Seconds: 3600, Hint: 3600}
	s := dial(t, p)
	for want, header := range map[string]map[string]any{
		"unknown field":                 {"alg": "ES256", "kid": "one", "typ": "JWT", "jku": "https://evil"},
		"bad type":                      {"alg": "ES256", "kid": "one"},
		`bad signing algorithm "none"`:  {"alg": "none", "kid": "one", "typ": "JWT"},
		`bad signing algorithm "HS256"`: {"alg": "HS256", "kid": "one", "typ": "JWT"},
		"kid is missing":                {"alg": "ES256", "typ": "JWT"},
		"kid is longer":                 {"alg": "ES256", "kid": strings.Repeat("k", 1025), "typ": "JWT"},
	} {
		p.Header(header)
		if token, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s %v", want, token, err)
		}
	}
}

func TestExcludedKeysDoNotSign(t *testing.T) {
	s := dial(t, &externaltest.Process{Seconds: 3600, Hint: 3600, Excluded: true})
	if _, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "key used for signing JWT (kid: one) is excluded from OIDC discovery docs") {
		t.Error(err)
	}
	if d, err := serviceaccount.NewDiscovery("https://i", "", "h:1", s); err != nil {
		t.Error(err)
	} else if raw, err := d.JWKS(); err != nil || strings.Contains(string(raw), "one") {
		t.Errorf("%s %v", raw, err)
	}
}

// The key of a signature is fetched if it is unknown, however recent the last fetch is.
func TestNewExcludedKeysDoNotSign(t *testing.T) {
	p := &externaltest.Process{Seconds: 3600, Hint: 3600}
	s := dial(t, p)
	p.Rotate("two")
	p.Exclude()
	if _, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "(kid: two) is excluded") {
		t.Error(err)
	}
}

// Timestamps have fractions of seconds.
func TestDataTimestamp(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry).fetched(time.Unix(1795412572, 250_000_000))
	got, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		if f.GetName() == "apiserver_externaljwt_fetch_keys_data_timestamp" && f.GetMetric()[0].GetGauge().GetValue() != 1795412572.25 {
			t.Error(f)
		}
	}
}

// 18,446,744,074 seconds overflow 64-bit nanoseconds to 0.3 s, with which the keys would be fetched
// continuously.
func TestLongTimes(t *testing.T) {
	s := dial(t, &externaltest.Process{Seconds: 18_446_744_074, Hint: 18_446_744_074})
	if refreshAfter := s.current.Load().refreshAfter; refreshAfter < time.Hour || s.MaxLifetime < time.Hour {
		t.Errorf("fetched again after %v, tokens live for %v", refreshAfter, s.MaxLifetime)
	}
}

func TestMisconfigured(t *testing.T) {
	for want, p := range map[string]*externaltest.Process{
		"at least 10m0s":       {Seconds: 599, Hint: 1},
		"refresh_hint_seconds": {Seconds: 600},
	} {
		if _, err := Dial(t.Context(), p.Start(t), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, "/does/not/exist", nil); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
