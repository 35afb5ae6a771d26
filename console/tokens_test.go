package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// bearer returns the user of a token, "" for none, and the error.
func bearer(tokens *Tokens, token string) (string, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := tokens.AuthenticateRequest(r)
	if response == nil {
		return "", err
	}
	return response.User.Name, err
}

func TestTokens(t *testing.T) {
	tokens, now := NewTokens(anybody), time.Unix(1e9, 0)
	tokens.now = func() time.Time { return now }
	jane := &user.Info{Name: "jane", Groups: []string{"devs"}, Extra: map[string][]string{"a": {"b"}}}
	token, expires, err := tokens.Issue(jane)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := bearer(tokens, token); name != "jane" || err != nil || !expires.Equal(now.Add(TokenLifetime)) {
		t.Errorf("the token is %q's until %v: %v", name, expires, err)
	}
	if len(jane.Extra) != 1 {
		t.Error("the user has changed")
	}
	if name, err := bearer(tokens, "of-somebody-else"); name != "" || err != nil {
		t.Errorf("other tokens are %q's: %v", name, err)
	}
	if _, err := bearer(tokens, token+"x"); err == nil {
		t.Error("a token that nobody issued is not refused")
	}
	if _, err := bearer(NewTokens(anybody), token); err == nil {
		t.Error("another process takes the token")
	}
	now = now.Add(TokenLifetime)
	if _, err := bearer(tokens, token); err == nil {
		t.Error("the token does not end")
	}
}

// The number of valid tokens is bounded: a user's new token replaces only that user's oldest one.
func TestTokensAreBounded(t *testing.T) {
	tokens, now := NewTokens(anybody), time.Unix(1e9, 0)
	tokens.now = func() time.Time { return now }
	issue := func(name string) (string, error) {
		token, _, err := tokens.Issue(&user.Info{Name: name})
		return token, err
	}
	victim, err := issue("victim")
	if err != nil {
		t.Fatal(err)
	}
	var first, last string
	for i := range 3 * maxTokensPerUser {
		if last, err = issue("greedy"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = last
		}
	}
	if _, err := bearer(tokens, first); err == nil || len(tokens.known) != 1+maxTokensPerUser {
		t.Errorf("%d tokens are known, and the oldest is one of them", len(tokens.known))
	}
	for i := 0; len(tokens.known) < maxTokens; i++ {
		if _, err := issue(fmt.Sprint("user", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := issue("late"); err == nil || len(tokens.known) != maxTokens {
		t.Errorf("%d tokens are known", len(tokens.known))
	}
	for _, token := range []string{victim, last} {
		if _, err := bearer(tokens, token); err != nil {
			t.Errorf("others have ended a token: %v", err)
		}
	}
	now = now.Add(TokenLifetime)
	if _, err := issue("late"); err != nil || len(tokens.known) != 1 || tokens.ages.Len() != 1 || len(tokens.users) != 1 {
		t.Errorf("after their time %d tokens are known, of %d users: %v", len(tokens.known), len(tokens.users), err)
	}
}

// A token ends with its user.
func TestTokensEndWithTheirUsers(t *testing.T) {
	gone := false
	tokens := NewTokens(func(_ context.Context, u *user.Info) error {
		if gone && u.Name == "account" {
			return errors.New("it is gone")
		}
		return nil
	})
	account, _, _ := tokens.Issue(&user.Info{Name: "account"})
	other, _, _ := tokens.Issue(&user.Info{Name: "other"})
	for _, gone = range []bool{false, true} {
		if _, err := bearer(tokens, account); (err != nil) != gone {
			t.Errorf("gone %v: %v", gone, err)
		}
		if _, err := bearer(tokens, other); err != nil {
			t.Error(err)
		}
	}
}

// Requests with a console token, or with impersonation, get no token.
func TestTokensAreNotProlonged(t *testing.T) {
	tokens := NewTokens(anybody)
	token, _, _ := tokens.Issue(&user.Info{Name: "jane"})
	jane := tokens.find(sha256.Sum256([]byte(token))).User
	for _, c := range []struct {
		name         string
		user         *user.Info
		impersonated bool
		code         int
	}{
		{"a user", &user.Info{Name: "jane"}, false, http.StatusCreated},
		{"a page's token", jane, false, http.StatusForbidden},
		{"as oneself", &user.Info{Name: "jane"}, true, http.StatusForbidden},
	} {
		var state request.State
		state.Init(t.Context())
		state.User, state.Impersonated = c.user, c.impersonated
		w := httptest.NewRecorder()
		tokens.ServeHTTP(w, httptest.NewRequest(http.MethodPost, TokenPath, nil).WithContext(&state))
		if w.Code != c.code {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

// anybody accepts all users.
func anybody(context.Context, *user.Info) error { return nil }
