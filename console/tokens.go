package console

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

// TokenPath is the path at which tokens for pages are issued.
const TokenPath = "/debug/console/token"

// TokenLifetime is the lifetime of a token.
const TokenLifetime = time.Hour

const (
	tokenPrefix = "triplane-console."
	// maxTokens bounds the valid tokens, and maxTokensPerUser those of one user. A user's new token replaces the
	// oldest one.
	maxTokens        = 1024
	maxTokensPerUser = 16
	// credentialID is the extra attribute of users who are authenticated by these tokens.
	credentialID = "authentication.kubernetes.io/credential-id"
)

// Tokens issues tokens for users, and authenticates them. Tokens are random, valid only in this process, and
// stored as hashes. It is safe for concurrent use.
type Tokens struct {
	now    func() time.Time
	exists func(context.Context, *user.Info) error

	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of *issued
	ages  *list.List                          // the oldest first
	users map[string]int                      // number of tokens by user
}

type issued struct {
	hash     [sha256.Size]byte
	response *authentication.Response
	expires  time.Time
}

// NewTokens returns an issuer of tokens. A token is rejected when exists returns an error for its user.
func NewTokens(exists func(context.Context, *user.Info) error) *Tokens {
	return &Tokens{
		now: time.Now, exists: exists,
		known: map[[sha256.Size]byte]*list.Element{}, ages: list.New(), users: map[string]int{},
	}
}

var (
	// errUnknownToken is the error for expired tokens, and for those of another process.
	errUnknownToken = errors.New("the console token is invalid or has expired")
	// errManyTokens is the error if maxTokens are valid.
	errManyTokens = errors.New("too many console tokens are valid: retry when some have expired, within an hour")
)

// AuthenticateRequest implements authentication.Request. It has no opinion on other tokens.
func (t *Tokens) AuthenticateRequest(r *http.Request) (*authentication.Response, error) {
	token := authentication.BearerToken(r.Header.Get("Authorization"))
	if !strings.HasPrefix(token, tokenPrefix) {
		return nil, nil
	}
	response := t.find(sha256.Sum256([]byte(token)))
	if response == nil {
		return nil, errUnknownToken
	}
	if err := t.exists(r.Context(), response.User); err != nil {
		return nil, fmt.Errorf("user of the console token: %w", err)
	}
	return response, nil
}

// find returns the response for a token, nil if it is not valid.
func (t *Tokens) find(hash [sha256.Size]byte) *authentication.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[hash]
	if !ok || !t.now().Before(e.Value.(*issued).expires) {
		return nil
	}
	return e.Value.(*issued).response
}

// Issue returns a token for a user and its expiry. It fails if the tokens of other users leave no room.
func (t *Tokens) Issue(u *user.Info) (token string, expires time.Time, err error) {
	token = tokenPrefix + rand.Text()
	hash := sha256.Sum256([]byte(token))
	extra := map[string][]string{}
	for k, v := range u.Extra {
		extra[k] = v
	}
	extra[credentialID] = []string{tokenPrefix + base64.RawURLEncoding.EncodeToString(hash[:9])}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.makeRoom(u.Name); err != nil {
		return "", time.Time{}, err
	}
	expires = t.now().Add(TokenLifetime)
	t.users[u.Name]++
	t.known[hash] = t.ages.PushBack(&issued{hash: hash, expires: expires, response: &authentication.Response{
		User: &user.Info{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: extra},
	}})
	return token, expires, nil
}

// makeRoom drops expired tokens, and the oldest token of a user with maxTokensPerUser. It never drops valid tokens
// of other users. The caller holds the mutex.
func (t *Tokens) makeRoom(name string) error {
	for e := t.ages.Front(); e != nil && !t.now().Before(e.Value.(*issued).expires); e = t.ages.Front() {
		t.drop(e)
	}
	if t.users[name] >= maxTokensPerUser {
		for e := t.ages.Front(); e != nil; e = e.Next() {
			if e.Value.(*issued).response.User.Name == name {
				t.drop(e)
				return nil
			}
		}
	}
	if t.ages.Len() >= maxTokens {
		return errManyTokens
	}
	return nil
}

func (t *Tokens) drop(e *list.Element) {
	old := t.ages.Remove(e).(*issued)
	delete(t.known, old.hash)
	name := old.response.User.Name
	if t.users[name]--; t.users[name] == 0 {
		delete(t.users, name)
	}
}

// Token is the response of TokenPath.
type Token struct {
	Token               string    `json:"token"`
	ExpirationTimestamp time.Time `json:"expirationTimestamp"`
}

// ServeHTTP issues a token to the user. It rejects requests that are authenticated by such a token, because tokens
// cannot be renewed, and requests that impersonate, because they could circumvent this.
func (t *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u := request.UserFrom(r.Context())
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "console tokens are issued by POST", http.StatusMethodNotAllowed)
		return
	case u == nil || u.InGroup(user.AllUnauthenticated):
		http.Error(w, "anonymous users get no console tokens", http.StatusForbidden)
		return
	case len(u.Extra[credentialID]) == 1 && strings.HasPrefix(u.Extra[credentialID][0], tokenPrefix):
		http.Error(w, "a console token cannot be renewed", http.StatusForbidden)
		return
	case request.StateFrom(r.Context()).Impersonated:
		http.Error(w, "requests that impersonate get no console tokens", http.StatusForbidden)
		return
	}
	var answer Token
	var err error
	if answer.Token, answer.ExpirationTimestamp, err = t.Issue(u); err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer) // fails only on closed connections
}
