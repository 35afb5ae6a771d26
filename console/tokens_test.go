package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"triplane/generic/authentication/user"
)

// bearer returns who a token says that it is, "" for nobody, and whether it was refused.
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
	tokens, now := NewTokens(), time.Unix(1e9, 0)
	tokens.now = func() time.Time { return now }
	jane := &user.Info{Name: "jane", Groups: []string{"devs"}, Extra: map[string][]string{"a": {"b"}}}
	token, expires := tokens.Issue(jane)
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
	if _, err := bearer(NewTokens(), token); err == nil {
		t.Error("another process takes the token")
	}
	now = now.Add(TokenLifetime)
	if _, err := bearer(tokens, token); err == nil {
		t.Error("the token does not end")
	}
}

// However many are issued, as many are known as there may be; the oldest go.
func TestTokensAreBounded(t *testing.T) {
	tokens := NewTokens()
	first, _ := tokens.Issue(&user.Info{Name: "first"})
	var last string
	for i := range maxTokens {
		last, _ = tokens.Issue(&user.Info{Name: fmt.Sprint(i)})
	}
	if _, err := bearer(tokens, first); err == nil || len(tokens.known) != maxTokens || tokens.ages.Len() != maxTokens {
		t.Errorf("%d tokens are known", len(tokens.known))
	}
	if _, err := bearer(tokens, last); err != nil {
		t.Error(err)
	}
}
