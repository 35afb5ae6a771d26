package jwt

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication/jwt/jwttest"
)

func ptr[T any](v T) *T { return &v }

// plain returns a configuration for an issuer after edit has changed it.
func plain(i *jwttest.Issuer, edit func(*Authenticator)) *Configuration {
	a := Authenticator{
		Issuer:        Issuer{URL: i.URL, CertificateAuthority: i.CA, Audiences: []string{"triplane"}},
		ClaimMappings: ClaimMappings{Username: PrefixedClaimOrExpression{Claim: "sub", Prefix: ptr("p:")}},
	}
	if edit != nil {
		edit(&a)
	}
	return &Configuration{JWT: []Authenticator{a}}
}

func mustCompile(t *testing.T, c *Configuration) *Compiled {
	t.Helper()
	done, errs := Compile(c, nil, Egress{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return done
}

// run applies a configuration until the test ends.
func run(t *testing.T, c *Configuration) *Configured {
	t.Helper()
	d := NewConfigured(mustCompile(t, c), true, NewMetrics(prometheus.NewRegistry(), "me"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, nil)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return d
}

func ready(t *testing.T, d *Configured) *Configured {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := d.current.Load().ready(ctx); err != nil {
		t.Fatal(err)
	}
	return d
}

// ask authenticates a token and returns the user or the error.
func ask(t *testing.T, d *Configured, token string) (*user.Info, string) {
	t.Helper()
	response, err := d.AuthenticateToken(t.Context(), token)
	switch {
	case err != nil:
		return nil, err.Error()
	case response == nil:
		return nil, "no opinion"
	}
	return response.User, ""
}

func TestMappingsAndRules(t *testing.T) {
	issuer := jwttest.New(t)
	for _, c := range []struct {
		name   string
		edit   func(*Authenticator)
		claims map[string]any
		want   *user.Info
		fails  string
	}{
		{"claim with prefix", nil, nil, &user.Info{Name: "p:sub-1"}, ""},
		{"credential id", nil, map[string]any{"jti": "j"}, &user.Info{Name: "p:sub-1", Extra: map[string][]string{user.CredentialIDKey: {"JTI=j"}}}, ""},
		{"groups list", groupsClaim, map[string]any{"groups": []string{"a", "b"}}, &user.Info{Name: "p:sub-1", Groups: []string{"g:a", "g:b"}}, ""},
		{"groups text", groupsClaim, map[string]any{"groups": "a"}, &user.Info{Name: "p:sub-1", Groups: []string{"g:a"}}, ""},
		{"no groups", groupsClaim, nil, &user.Info{Name: "p:sub-1"}, ""},
		{"groups number", groupsClaim, map[string]any{"groups": 3}, nil, "neither a string nor a list"},
		{"groups of numbers", groupsClaim, map[string]any{"groups": []int{3}}, nil, "string"},
		{"empty fields of the user", func(a *Authenticator) {
			a.UserValidationRules = []UserValidationRule{{Expression: "has(user.uid) && has(user.groups) && has(user.extra) && " +
				"user.uid == '' && user.groups.size() == 0 && user.extra == {}"}}
		}, nil, &user.Info{Name: "p:sub-1"}, ""},
		{"null in groups", groupsClaim, map[string]any{"groups": []any{"a", nil}},
			&user.Info{Name: "p:sub-1", Groups: []string{"g:a", "g:"}}, ""},
		{"null as UID", func(a *Authenticator) { a.ClaimMappings.UID.Claim = "uid" },
			map[string]any{"uid": json.RawMessage("null")}, &user.Info{Name: "p:sub-1"}, ""},
		{"null as username", nil, map[string]any{"sub": json.RawMessage("null")}, &user.Info{Name: "p:"}, ""},
		{"no username", nil, map[string]any{"sub": nil}, nil, `claim "sub" is not present`},
		{"empty username", nil, map[string]any{"sub": ""}, &user.Info{Name: "p:"}, ""},
		{"empty username of an expression", func(a *Authenticator) {
			a.ClaimMappings.Username = PrefixedClaimOrExpression{Expression: "claims.sub"}
		}, map[string]any{"sub": ""}, nil, "username is empty"},
		{"number as username", nil, map[string]any{"sub": 7}, nil, "string"},
		{"unverified address", emailClaim, map[string]any{"email": "a@b", "email_verified": false}, nil, "email not verified"},
		{"verified as text", emailClaim, map[string]any{"email": "a@b", "email_verified": "true"}, nil, "email not verified"},
		{"verified address", emailClaim, map[string]any{"email": "a@b", "email_verified": true}, &user.Info{Name: "a@b"}, ""},
		{"address without a word", emailClaim, map[string]any{"email": "a@b"}, &user.Info{Name: "a@b"}, ""},
		{"all expressions", expressions, map[string]any{"groups": []string{"a", ""}, "tenant": map[string]any{"id": "t1"}, "roles": "r", "lifetime": 60},
			&user.Info{Name: "sub-1@t1", UID: "t1", Groups: []string{"x-a", "x-"}, Extra: map[string][]string{"example.org/roles": {"r"}}}, ""},
		{"claim rule", expressions, map[string]any{"groups": []string{"a"}, "tenant": map[string]any{"id": "t1"}, "roles": "r", "lifetime": 6000}, nil, "too long"},
		{"user rule", expressions, map[string]any{"groups": []string{"a"}, "sub": "system:x", "tenant": map[string]any{"id": "t1"}, "roles": "r", "lifetime": 6}, nil, "no system users"},
		{"missing claim in expression", expressions, map[string]any{"lifetime": 6}, nil, "no such key"},
		{"required claim", required, map[string]any{"hd": "example.org"}, &user.Info{Name: "p:sub-1"}, ""},
		{"other value", required, map[string]any{"hd": "example.com"}, nil, "value does not match"},
		{"no value", required, nil, nil, "not present"},
		{"several audiences", audiences, map[string]any{"aud": []string{"x", "two"}}, &user.Info{Name: "p:sub-1"}, ""},
		{"other audience", nil, map[string]any{"aud": "somebody"}, nil, "audience"},
		{"no audience", nil, map[string]any{"aud": nil}, nil, "audience"},
		{"expired", nil, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, nil, "expired"},
		{"no expiry", nil, map[string]any{"exp": nil}, nil, "expired"},
		{"a clock that is ahead", nil, map[string]any{"nbf": time.Now().Add(30 * time.Second).Unix()}, &user.Info{Name: "p:sub-1"}, ""},
		{"not yet for two minutes", nil, map[string]any{"nbf": time.Now().Add(2 * time.Minute).Unix()}, nil, "not before"},
		{"not in this universe", nil, map[string]any{"nbf": 1e300}, nil, "not before"},
		{"not yet", nil, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}, nil, "not before"},
		{"discovery elsewhere", func(a *Authenticator) { a.Issuer.DiscoveryURL = issuer.DiscoveryURL }, nil, &user.Info{Name: "p:sub-1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := ready(t, run(t, plain(issuer, c.edit)))
			got, why := ask(t, d, issuer.Token(c.claims))
			if !reflect.DeepEqual(got, c.want) || (c.fails == "") != (why == "") || !strings.Contains(why, c.fails) {
				t.Errorf("got %+v, %q", got, why)
			}
		})
	}
}

func groupsClaim(a *Authenticator) {
	a.ClaimMappings.Groups = PrefixedClaimOrExpression{Claim: "groups", Prefix: ptr("g:")}
}

func emailClaim(a *Authenticator) {
	a.ClaimMappings.Username = PrefixedClaimOrExpression{Claim: "email", Prefix: ptr("")}
}

func required(a *Authenticator) {
	a.ClaimValidationRules = []ClaimValidationRule{{Claim: "hd", RequiredValue: "example.org"}}
}

func audiences(a *Authenticator) {
	a.Issuer.Audiences, a.Issuer.AudienceMatchPolicy = []string{"one", "two"}, matchAny
}

func expressions(a *Authenticator) {
	a.ClaimMappings = ClaimMappings{
		Username: PrefixedClaimOrExpression{Expression: "claims.sub + (claims.sub.startsWith('system:') ? '' : '@' + claims.tenant.id)"},
		Groups:   PrefixedClaimOrExpression{Expression: "dyn(claims.groups).map(g, 'x-' + g)"},
		UID:      ClaimOrExpression{Expression: "claims.tenant.id"},
		Extra: []ExtraMapping{
			{Key: "example.org/roles", ValueExpression: "claims.roles"},
			{Key: "example.org/none", ValueExpression: "claims.?none.orValue('')"},
		},
	}
	a.ClaimValidationRules = []ClaimValidationRule{{Expression: "claims.lifetime <= 600", Message: "too long"}}
	a.UserValidationRules = []UserValidationRule{
		{Expression: "!user.username.startsWith('system:')", Message: "no system users"},
		{Expression: "user.groups.all(g, g.startsWith('x-')) && user.extra['example.org/roles'] == ['r'] && user.uid == 't1'"},
	}
}

// Tokens of attackers who have a valid token of the issuer, or its public key.
func TestForgedTokens(t *testing.T) {
	issuer, other := jwttest.New(t), jwttest.New(t)
	d := ready(t, run(t, plain(issuer, nil)))
	good := issuer.Token(nil)
	if _, why := ask(t, d, good); why != "" {
		t.Fatal(why)
	}
	header, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	encode := func(v any) string {
		raw, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	key := issuer.Key()
	public, err := x509.MarshalPKIXPublicKey(issuer.PublicKey().Key)
	if err != nil {
		t.Fatal(err)
	}
	stolenID := other.Key()
	stolenID.KeyID = key.KeyID
	for name, token := range map[string]string{
		"alg none":              encode(map[string]any{"alg": "none"}) + "." + payload + ".",
		"alg none with a kid":   encode(map[string]any{"alg": "none", "kid": key.KeyID}) + "." + payload + "." + signature,
		"public key as secret":  jwttest.Sign(t, jose.HS256, public, issuer.Claims(nil)),
		"kid of a public key":   jwttest.Sign(t, jose.ES256, stolenID, issuer.Claims(nil)),
		"another issuer's key":  jwttest.Sign(t, jose.ES256, other.Key(), issuer.Claims(nil)),
		"another issuer's name": jwttest.Sign(t, jose.ES256, key, other.Claims(nil)),
		"own key in the header": jwttest.Sign(t, jose.ES256, other.Key(), issuer.Claims(map[string]any{"jwk": other.PublicKey()})),
		"changed claims":        header + "." + encode(issuer.Claims(map[string]any{"sub": "admin"})) + "." + signature,
		"no signature":          header + "." + payload + ".",
		"four parts":            good + ".x",
		"JSON form":             fmt.Sprintf(`{"payload":%q,"protected":%q,"signature":%q}`, payload, header, signature),
		"huge":                  header + "." + encode(issuer.Claims(map[string]any{"x": strings.Repeat("y", 1<<20)})) + "." + signature,
		"deep":                  header + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat(`{"iss":`, 100000))) + "." + signature,
	} {
		if u, why := ask(t, d, token); why == "" {
			t.Errorf("%s: accepted as %v", name, u)
		}
	}
}

func TestKeysAreRotated(t *testing.T) {
	issuer := jwttest.New(t)
	d := ready(t, run(t, plain(issuer, nil)))
	old := issuer.Token(nil)
	if _, why := ask(t, d, old); why != "" {
		t.Fatal(why)
	}
	issuer.Rotate()
	await(t, func() bool { _, why := ask(t, d, issuer.Token(nil)); return why == "" })
	// The library returns new keys a moment before it caches them. A trailing space makes another token, so
	// that the cache of accepted tokens does not have it.
	await(t, func() bool { old += " "; _, why := ask(t, d, old); return why != "" })
	before := issuer.Fetched.Load()
	stranger := issuer.Key()
	begun := time.Now()
	for i := range 50 {
		stranger.KeyID = fmt.Sprint("invented", i)
		ask(t, d, jwttest.Sign(t, jose.ES256, stranger, issuer.Claims(nil)))
	}
	if n := issuer.Fetched.Load() - before; n > 2+int64(time.Since(begun)/keysTTL) {
		t.Errorf("50 invented key ids had the keys fetched %d times", n)
	}
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not come to be")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestIssuerIsDownAtFirst(t *testing.T) {
	issuer := jwttest.New(t)
	issuer.SetDown(true)
	d := run(t, plain(issuer, nil))
	if _, why := ask(t, d, issuer.Token(nil)); why != errNotReady.Error() {
		t.Fatal(why)
	}
	issuer.SetDown(false)
	ready(t, d)
	if _, why := ask(t, d, issuer.Token(nil)); why != "" {
		t.Fatal(why)
	}
}

func TestReplace(t *testing.T) {
	first, second := jwttest.New(t), jwttest.New(t)
	d := ready(t, run(t, plain(first, nil)))
	old := first.Token(nil)
	if _, why := ask(t, d, old); why != "" {
		t.Fatal(why)
	}
	second.SetDown(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := d.Replace(ctx, mustCompile(t, plain(second, nil))); err == nil {
		t.Fatal("a configuration with an unavailable issuer is in effect")
	}
	if _, why := ask(t, d, old); why != "" {
		t.Fatalf("the first configuration is lost: %s", why)
	}
	second.SetDown(false)
	c := plain(second, nil)
	c.Anonymous = &Anonymous{Enabled: true, Conditions: []AnonymousCondition{{Path: "/livez"}}}
	if !d.servesAnonymous("/x") {
		t.Error("anonymous requests are rejected before")
	}
	if err := d.Replace(t.Context(), mustCompile(t, c)); err != nil {
		t.Fatal(err)
	}
	if _, why := ask(t, d, old); why != "no opinion" {
		t.Errorf("a token of a removed issuer: %q", why)
	}
	if _, why := ask(t, d, second.Token(nil)); why != "" {
		t.Error(why)
	}
	if d.servesAnonymous("/x") || !d.servesAnonymous("/livez") {
		t.Error("the conditions are not in effect")
	}
}

func TestDistributedGroups(t *testing.T) {
	issuer, groups := jwttest.New(t), jwttest.New(t)
	answer := issuer.Token(map[string]any{"groups": []string{"far"}})
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(answer))
	}
	issuer.Handle("/groups", serve)
	d := ready(t, run(t, plain(issuer, groupsClaim)))
	token := func(access string) string {
		return issuer.Token(map[string]any{
			"_claim_names":   map[string]any{"groups": "src"},
			"_claim_sources": map[string]any{"src": map[string]any{"endpoint": issuer.URL + "/groups", "access_token": access}},
		})
	}
	u, why := ask(t, d, token("sesame"))
	if why != "" || !reflect.DeepEqual(u.Groups, []string{"g:far"}) {
		t.Errorf("%+v %s", u, why)
	}
	if u, why := ask(t, d, token("wrong")); why == "" {
		t.Errorf("groups of a service that refuses: %+v", u)
	}
	answer = groups.Token(map[string]any{"groups": []string{"far"}, "iss": issuer.URL})
	if u, why := ask(t, d, token("sesame")+" "); why == "" {
		t.Errorf("groups that a stranger signed: %+v", u)
	}
}
