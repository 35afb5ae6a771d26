package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"triplane.dev/generic/guard/authentication"
)

func caller(t *testing.T, service http.HandlerFunc) *Caller {
	t.Helper()
	s := httptest.NewServer(service)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n", s.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewCaller(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.pause = time.Millisecond
	return c
}

func TestToken(t *testing.T) {
	c := caller(t, func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.APIVersion != "authentication.k8s.io/v1" {
			t.Errorf("%v %+v", err, review)
		}
		switch review.Spec.Token {
		case "good":
			_, _ = fmt.Fprint(w, `{"status":{"authenticated":true,"user":{"username":"u","uid":"1","groups":["g"],"extra":{"k":["v"]}}}}`)
		case "vault":
			_, _ = fmt.Fprint(w, `{"status":{"authenticated":true,"audiences":["vault"],"user":{"username":"u"}}}`)
		case "pod":
			_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Pod"}`)
		case "bad":
			_, _ = fmt.Fprint(w, `{"status":{"error":"expired"}}`)
		default:
			_, _ = fmt.Fprint(w, `{"status":{}}`)
		}
	})
	auth, err := Token(c, "v1", []string{"api"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		token     string
		audiences []string
		ok, fails bool
	}{
		{"good", nil, true, false}, {"good", []string{"vault"}, false, false}, {"pod", nil, false, true}, {"vault", nil, false, false}, {"vault", []string{"vault"}, true, false}, {"bad", nil, false, true}, {"other", nil, false, false},
	} {
		ctx := context.Background()
		if s.audiences != nil {
			ctx = authentication.WithAudiences(ctx, s.audiences)
		}
		response, err := auth.AuthenticateToken(ctx, s.token)
		if (response != nil) != s.ok || (err != nil) != s.fails {
			t.Errorf("%+v: %+v %v", s, response, err)
		}
		if s.token == "good" && response != nil && (response.User.Extra["k"][0] != "v" || response.User.UID != "1" || response.Audiences[0] != "api") {
			t.Errorf("%+v", response)
		}
	}
	if _, err := Token(c, "v3", nil); err == nil {
		t.Error("v3 is taken")
	}
}

func TestCallTriesAgain(t *testing.T) {
	for _, s := range []struct{ failures, code, calls int }{
		{2, 502, 3}, {2, 429, 3}, {99, 500, attempts}, {99, 403, 1}, {99, 503, 1},
	} {
		calls := 0
		c := caller(t, func(w http.ResponseWriter, _ *http.Request) {
			if calls++; calls <= s.failures {
				w.WriteHeader(s.code)
				return
			}
			_, _ = fmt.Fprint(w, `{}`)
		})
		err := c.Call(context.Background(), &authenticationv1.TokenReview{})
		if calls != s.calls || (err != nil) != (s.failures == 99) {
			t.Errorf("%+v: %d calls, %v", s, calls, err)
		}
	}
	c := caller(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	c.pause = time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, &authenticationv1.TokenReview{}); err == nil {
		t.Error("a dead service answers")
	}
	var calls atomic.Int64
	c = caller(t, func(_ http.ResponseWriter, r *http.Request) {
		if calls.Add(1); r.URL.Query().Get("timeout") != "30s" {
			t.Errorf("sent to %s", r.URL)
		}
		panic(http.ErrAbortHandler)
	})
	if err := c.Call(t.Context(), &authenticationv1.TokenReview{}); err == nil || calls.Load() != 1 {
		t.Errorf("%d calls of a service that hangs up, %v", calls.Load(), err)
	}
	calls.Store(0)
	if err := c.Send(t.Context(), nil, time.Millisecond); err == nil || calls.Load() != attempts {
		t.Errorf("%d sent, %v", calls.Load(), err)
	}
}
