package console

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"triplane/generic/authentication"
	"triplane/generic/authentication/user"
	"triplane/generic/request"
)

// TokenPath is where a token for a page is asked for.
const TokenPath = "/debug/console/token"

// TokenLifetime is how long a token is accepted.
const TokenLifetime = time.Hour

const (
	tokenPrefix = "triplane-console."
	// maxTokens bounds how many are known; the oldest ends when there are more.
	maxTokens = 1024
	// credentialID is the extra value by which users are known whose credential is one
	// of these tokens.
	credentialID = "authentication.kubernetes.io/credential-id"
)

// Tokens issues tokens that stand for the users who ask, and authenticates them. They
// are random, known to this process only, and kept by their hashes. It is safe for
// concurrent use.
type Tokens struct {
	now func() time.Time

	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of issued
	ages  *list.List                          // the oldest first
}

type issued struct {
	hash     [sha256.Size]byte
	response *authentication.Response
	expires  time.Time
}

// NewTokens returns an issuer without tokens.
func NewTokens() *Tokens {
	return &Tokens{now: time.Now, known: map[[sha256.Size]byte]*list.Element{}, ages: list.New()}
}

// errUnknownToken is of tokens that ended, or another process issued.
var errUnknownToken = errors.New("the token of the console is not known, or has ended")

// AuthenticateRequest implements authentication.Request. It has no opinion of other
// tokens.
func (t *Tokens) AuthenticateRequest(r *http.Request) (*authentication.Response, error) {
	token := authentication.BearerToken(r.Header.Get("Authorization"))
	if !strings.HasPrefix(token, tokenPrefix) {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[sha256.Sum256([]byte(token))]
	if !ok || !t.now().Before(e.Value.(*issued).expires) {
		return nil, errUnknownToken
	}
	return e.Value.(*issued).response, nil
}

// Issue returns a token for a user and when it ends.
func (t *Tokens) Issue(u *user.Info) (token string, expires time.Time) {
	token = tokenPrefix + rand.Text()
	hash := sha256.Sum256([]byte(token))
	extra := map[string][]string{}
	for k, v := range u.Extra {
		extra[k] = v
	}
	extra[credentialID] = []string{tokenPrefix + base64.RawURLEncoding.EncodeToString(hash[:9])}
	t.mu.Lock()
	defer t.mu.Unlock()
	expires = t.now().Add(TokenLifetime)
	t.known[hash] = t.ages.PushBack(&issued{hash: hash, expires: expires, response: &authentication.Response{
		User: &user.Info{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: extra},
	}})
	for oldest := t.ages.Front(); t.ages.Len() > maxTokens || !t.now().Before(oldest.Value.(*issued).expires); oldest = t.ages.Front() {
		delete(t.known, oldest.Value.(*issued).hash)
		t.ages.Remove(oldest)
	}
	return token, expires
}

// Token is the answer at TokenPath.
type Token struct {
	Token               string    `json:"token"`
	ExpirationTimestamp time.Time `json:"expirationTimestamp"`
}

// ServeHTTP issues a token to the user who asks. A request that is authenticated by such a token gets none:
// tokens cannot be renewed.
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
	}
	var answer Token
	answer.Token, answer.ExpirationTimestamp = t.Issue(u)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer) // the client may have gone
}
