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

	"triplane/generic/base/request"
	"triplane/generic/base/user"
	"triplane/generic/guard/authentication"
)

// TokenPath is where a token for a page is asked for.
const TokenPath = "/debug/console/token"

// TokenLifetime is how long a token is accepted.
const TokenLifetime = time.Hour

const (
	tokenPrefix = "triplane-console."
	// maxTokens bounds how many are known, and maxTokensPerUser those of a user, whose oldest ends when
	// there are more.
	maxTokens        = 1024
	maxTokensPerUser = 16
	// credentialID is the extra value by which users are known whose credential is one
	// of these tokens.
	credentialID = "authentication.kubernetes.io/credential-id"
)

// Tokens issues tokens that stand for the users who ask, and authenticates them. They
// are random, known to this process only, and kept by their hashes. It is safe for
// concurrent use.
type Tokens struct {
	now    func() time.Time
	exists func(context.Context, *user.Info) error

	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of *issued
	ages  *list.List                          // the oldest first
	users map[string]int                      // how many tokens each has
}

type issued struct {
	hash     [sha256.Size]byte
	response *authentication.Response
	expires  time.Time
}

// NewTokens returns an issuer without tokens. A token ends when exists returns an error for its user.
func NewTokens(exists func(context.Context, *user.Info) error) *Tokens {
	return &Tokens{
		now: time.Now, exists: exists,
		known: map[[sha256.Size]byte]*list.Element{}, ages: list.New(), users: map[string]int{},
	}
}

var (
	// errUnknownToken is of tokens that ended, or another process issued.
	errUnknownToken = errors.New("the token of the console is not known, or has ended")
	// errManyTokens is of a server that has issued as many as it may.
	errManyTokens = errors.New("the console has issued too many tokens: try again when some have ended, in an hour")
)

// AuthenticateRequest implements authentication.Request. It has no opinion of other
// tokens.
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
		return nil, fmt.Errorf("the user of a token of the console: %w", err)
	}
	return response, nil
}

// find returns whose token it is, nil for none that is accepted.
func (t *Tokens) find(hash [sha256.Size]byte) *authentication.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[hash]
	if !ok || !t.now().Before(e.Value.(*issued).expires) {
		return nil
	}
	return e.Value.(*issued).response
}

// Issue returns a token for a user and when it ends. It fails when other users have all that there may be.
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

// makeRoom ends what is over its time, and the oldest token of a user who has as many as there may be; tokens of
// others stay. The caller holds the mutex.
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

// Token is the answer at TokenPath.
type Token struct {
	Token               string    `json:"token"`
	ExpirationTimestamp time.Time `json:"expirationTimestamp"`
}

// ServeHTTP issues a token to the user who asks. A request that is authenticated by such a token gets none:
// tokens cannot be renewed. Nor does one that impersonates: it may have such a token, or act as its user.
func (t *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u := request.UserFrom(r.Context())
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "tokens are issued by POST", http.StatusMethodNotAllowed)
		return
	case u == nil || u.InGroup(user.AllUnauthenticated):
		http.Error(w, "nobody has no token", http.StatusForbidden)
		return
	case len(u.Extra[credentialID]) == 1 && strings.HasPrefix(u.Extra[credentialID][0], tokenPrefix):
		http.Error(w, "a token of the console cannot be prolonged", http.StatusForbidden)
		return
	case request.StateFrom(r.Context()).Impersonated:
		http.Error(w, "a token of the console is not issued to a request that impersonates", http.StatusForbidden)
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
	_ = json.NewEncoder(w).Encode(answer) // the client may have gone
}
