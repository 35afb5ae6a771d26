package authentication

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/user"
)

func known(name string) Token {
	return TokenFunc(func(_ context.Context, token string) (*Response, error) {
		if token == name {
			return &Response{User: &user.Info{Name: name, Groups: []string{"g"}}}, nil
		}
		return nil, nil
	})
}

func TestBearerToken(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer t":     "t",
		"bearer t":     "t",
		"BEARER t x":   "t",
		" Bearer t ":   "t",
		"Bearer  t":    "",
		"Bearer":       "",
		"Bearer ":      "",
		"Bearer\tt":    "",
		"t":            "",
		"Basic t":      "",
		"":             "",
		"Bearer \"t\"": "\"t\"",
	} {
		if got := BearerToken(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func FuzzBearerToken(f *testing.F) {
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		if token := BearerToken(header); strings.Contains(token, " ") {
			t.Errorf("%q of %q", token, header)
		}
		_, _, _ = protocolToken([]string{header, WebSocketPrefix + header})
	})
}

func TestUnion(t *testing.T) {
	refuse := RequestFunc(func(*http.Request) (*Response, error) { return nil, errors.New("wrong") })
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer a")
	for _, c := range []struct {
		auth Request
		name string
		fail bool
	}{
		{Union(refuse, Bearer(known("a"))), "a", false},
		{UnionFailFirst(refuse, Bearer(known("a"))), "", true},
		{UnionFailFirst(Union(Bearer(known("b"))), Anonymous()), "", true},
		{Union(Bearer(UnionToken(known("b"), known("a")))), "a", false},
		{Union(), "", false},
	} {
		response, err := c.auth.AuthenticateRequest(r)
		if (err != nil) != c.fail || (response != nil) != (c.name != "") || (response != nil && response.User.Name != c.name) {
			t.Errorf("%s: %v %v", c.name, response, err)
		}
	}
}

func TestAuthenticatedGroup(t *testing.T) {
	once := &Response{User: &user.Info{Name: "x", Groups: []string{"a"}}}
	group := func(in *Response) []string {
		out, _ := AuthenticatedGroup(RequestFunc(func(*http.Request) (*Response, error) { return in, nil })).AuthenticateRequest(nil)
		return out.User.Groups
	}
	if got := group(once); !reflect.DeepEqual(got, []string{"a", user.AllAuthenticated}) || len(once.User.Groups) != 1 {
		t.Errorf("%q, the response itself %q", got, once.User.Groups)
	}
	for _, u := range []*user.Info{{Name: user.Anonymous}, {Name: "x", Groups: []string{user.AllUnauthenticated}}, {Name: "x", Groups: []string{user.AllAuthenticated}}} {
		if got := group(&Response{User: u}); !reflect.DeepEqual(got, u.Groups) {
			t.Errorf("%v: %q", u, got)
		}
	}
}

func TestAnonymousAndLoopback(t *testing.T) {
	healthz, other := httptest.NewRequest(http.MethodGet, "/healthz", nil), httptest.NewRequest(http.MethodGet, "/x", nil)
	some := Anonymous("/healthz")
	if r, _ := some.AuthenticateRequest(healthz); r == nil || r.User.Name != user.Anonymous || !r.User.InGroup(user.AllUnauthenticated) {
		t.Errorf("%v", r)
	}
	if r, _ := some.AuthenticateRequest(other); r != nil {
		t.Errorf("%v", r)
	}
	own := Loopback("uid")
	if r, _ := own.AuthenticateRequest(other); r != nil {
		t.Error("a request from outside is taken for the server's own")
	}
	if r, _ := own.AuthenticateRequest(other.WithContext(WithLoopback(context.Background()))); r == nil || !r.User.InGroup(user.SystemPrivileged) {
		t.Errorf("%v", r)
	}
}

func TestWebSocket(t *testing.T) {
	encoded := WebSocketPrefix + base64.RawURLEncoding.EncodeToString([]byte("tok"))
	for _, c := range []struct {
		protocols, upgrade, left string
		ok, fail                 bool
	}{
		{"v4.channel.k8s.io, " + encoded, "websocket", "v4.channel.k8s.io", true, false},
		{encoded + ",a,b", "WebSocket", "a,b", true, false},
		{"a, " + encoded, "h2c", "a, " + encoded, false, false},
		{"a", "websocket", "a", false, false},
		{encoded, "websocket", encoded, false, true},
		{"a," + encoded + "," + encoded, "websocket", "", false, true},
		{"a," + WebSocketPrefix + "%%", "websocket", "", false, true},
		{"a," + WebSocketPrefix + "eA", "websocket", "", false, true},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Connection", "keep-alive, Upgrade")
		r.Header.Set("Upgrade", c.upgrade)
		r.Header.Set(protocolHeader, c.protocols)
		response, err := WebSocket(known("tok")).AuthenticateRequest(r)
		if (response != nil) != c.ok || (err != nil) != c.fail {
			t.Errorf("%q: %v %v", c.protocols, response, err)
		}
		if got := r.Header.Get(protocolHeader); c.left != "" && got != c.left {
			t.Errorf("%q: left %q", c.protocols, got)
		}
	}
}

func TestReviewErrors(t *testing.T) {
	broken := TokenFunc(func(context.Context, string) (*Response, error) { return nil, errors.New("gone") })
	if _, err := Review(context.Background(), broken, "x"); err == nil || err.Error() != "[invalid bearer token, gone]" {
		t.Error(err)
	}
	if _, err := Review(context.Background(), known("a"), "x"); err == nil || err.Error() != "invalid bearer token" {
		t.Error(err)
	}
	if r, err := Review(context.Background(), known("a"), "a"); err != nil || !r.User.InGroup(user.AllAuthenticated) {
		t.Error(r, err)
	}
}

func TestTokenCache(t *testing.T) {
	asked := 0
	c := NewTokenCache(TokenFunc(func(_ context.Context, token string) (*Response, error) {
		asked++
		if token == "bad" {
			return nil, nil
		}
		return &Response{User: &user.Info{Name: token}}, nil
	}), time.Minute)
	now := time.Now()
	c.now = func() time.Time { return now }
	ctx := context.Background()
	steps := []struct {
		ctx   context.Context
		token string
		after time.Duration
		asked int
	}{
		{ctx, "a", 0, 1}, {ctx, "a", 0, 1}, {ctx, "b", 0, 2}, {ctx, "bad", 0, 3}, {ctx, "bad", 0, 4},
		{WithAudiences(ctx, []string{"x"}), "a", 0, 5}, {WithAudiences(ctx, []string{"x"}), "a", 0, 5},
		{ctx, "a\x00x", 0, 6}, {WithAudiences(ctx, []string{"x\x00y"}), "a", 0, 7}, {WithAudiences(ctx, []string{"x", "y"}), "a", 0, 8},
		{ctx, "a", time.Minute, 9},
	}
	for i, s := range steps {
		now = now.Add(s.after)
		if _, err := c.AuthenticateToken(s.ctx, s.token); err != nil || asked != s.asked {
			t.Errorf("step %d: %d calls, %v", i, asked, err)
		}
	}
	for i := range 3 * maxCachedTokens {
		_, _ = c.AuthenticateToken(ctx, strings.Repeat("t", i%7)+string(rune(i)))
	}
	if n := c.known.freshLen() + len(c.known.published.Load().old); n > 2*maxCachedTokens {
		t.Errorf("%d tokens kept", n)
	}
}

func TestTokenFile(t *testing.T) {
	tokens, err := parseTokens(strings.NewReader("t1,alice,u1,\"a,b\"\nt2,bob,u2\nt3,carol,u3,\"\"\n,nobody,u\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := TokenFile{
		sha256.Sum256([]byte("t1")): {User: &user.Info{Name: "alice", UID: "u1", Groups: []string{"a", "b"}}},
		sha256.Sum256([]byte("t2")): {User: &user.Info{Name: "bob", UID: "u2"}},
		sha256.Sum256([]byte("t3")): {User: &user.Info{Name: "carol", UID: "u3", Groups: []string{""}}},
	}
	if !reflect.DeepEqual(tokens, want) {
		t.Errorf("%v", tokens)
	}
	if _, err := parseTokens(strings.NewReader("t,alice\n"), "f"); err == nil {
		t.Error("two columns are taken")
	}
	if r, err := tokens.AuthenticateToken(context.Background(), "T1"); r != nil || err != nil {
		t.Error(r, err)
	}
}

func TestBootstrapToken(t *testing.T) {
	base := func() *corev1.Secret {
		return &corev1.Secret{Type: "bootstrap.kubernetes.io/token", Data: map[string][]byte{
			"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true"),
		}}
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.Secret)
		token  string
		groups []string // nil is refused
	}{
		{"good", func(*corev1.Secret) {}, "abcdef.0123456789abcdef", []string{"system:bootstrappers"}},
		{"groups", func(s *corev1.Secret) {
			s.Data["auth-extra-groups"] = []byte("system:bootstrappers:w,system:bootstrappers:a")
		}, "abcdef.0123456789abcdef", []string{"system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:w"}},
		{"far end", func(s *corev1.Secret) { s.Data["expiration"] = []byte("2999-01-01T00:00:00Z") }, "abcdef.0123456789abcdef", []string{"system:bootstrappers"}},
		{"wrong secret", func(*corev1.Secret) {}, "abcdef.0123456789abcdeg", nil},
		{"no token", func(*corev1.Secret) {}, "abcdef", nil},
		{"expired", func(s *corev1.Secret) { s.Data["expiration"] = []byte("2020-01-01T00:00:00Z") }, "abcdef.0123456789abcdef", nil},
		{"never", func(s *corev1.Secret) { s.Data["expiration"] = []byte("never") }, "abcdef.0123456789abcdef", nil},
		{"usage", func(s *corev1.Secret) { s.Data["usage-bootstrap-authentication"] = []byte("True") }, "abcdef.0123456789abcdef", nil},
		{"opaque", func(s *corev1.Secret) { s.Type = "Opaque" }, "abcdef.0123456789abcdef", nil},
		{"other id", func(s *corev1.Secret) { s.Data["token-id"] = []byte("zzzzzz") }, "abcdef.0123456789abcdef", nil},
		{"masters", func(s *corev1.Secret) { s.Data["auth-extra-groups"] = []byte("system:masters") }, "abcdef.0123456789abcdef", nil},
		{"deleted", func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, "abcdef.0123456789abcdef", nil},
	} {
		s := base()
		c.change(s)
		auth := BootstrapToken(func(_ context.Context, name string) (*corev1.Secret, error) {
			if name != "bootstrap-token-abcdef" {
				return nil, errors.New("not found")
			}
			return s, nil
		})
		response, err := auth.AuthenticateToken(context.Background(), c.token)
		if err != nil || (response != nil) != (c.groups != nil) {
			t.Errorf("%s: %v %v", c.name, response, err)
			continue
		}
		if response != nil && (response.User.Name != "system:bootstrap:abcdef" || !reflect.DeepEqual(response.User.Groups, c.groups)) {
			t.Errorf("%s: %+v", c.name, response.User)
		}
	}
}
