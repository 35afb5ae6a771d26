package authentication

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

func TestForAudiences(t *testing.T) {
	tokens := ForAudiences([]string{"api", "other"}, known("a"))
	for _, c := range []struct {
		token  string
		wanted []string // nil asks for none
		known  bool
		got    []string
	}{
		{"a", nil, true, nil},
		{"a", []string{"api"}, true, []string{"api"}},
		{"a", []string{"nobody", "other"}, true, []string{"other"}},
		{"a", []string{"nobody"}, false, nil},
		{"b", []string{"api"}, false, nil},
	} {
		ctx := context.Background()
		if c.wanted != nil {
			ctx = WithAudiences(ctx, c.wanted)
		}
		r, err := tokens.AuthenticateToken(ctx, c.token)
		if err != nil || (r != nil) != c.known || r != nil && !slices.Equal(r.Audiences, c.got) {
			t.Errorf("%s for %q: %v, %v", c.token, c.wanted, r, err)
		}
	}
}

func TestReviewedTokensTravelInAHeader(t *testing.T) {
	tokens := HeaderToken(UnionFailFirst(Bearer(known("a")), Anonymous()))
	var warnings request.Warnings
	ctx := request.WithWarnings(WithAudiences(context.Background(), []string{"api"}), &warnings)
	for token, name := range map[string]string{"a": "a", "a b": "a", "b": "", " a": user.Anonymous, "Bearer a": ""} {
		r, err := Review(ctx, tokens, token)
		if (err == nil) != (name != "") || r != nil && r.User.Name != name {
			t.Errorf("%q: %v, %v", token, r, err)
		}
		if token == " a" && !slices.Equal(r.Audiences, []string{"api"}) {
			t.Errorf("audiences without a user: %q", r.Audiences)
		}
	}
	if w := warnings.Texts(); w != nil {
		t.Errorf("the review's client is warned: %q", w)
	}
}

func TestWarningOfSpaces(t *testing.T) {
	for header, warned := range map[string]bool{
		"Bearer  a": true, "bearer  a": true, "Bearer a": false, "Bearer   a": false, "Basic  a": false, "Bearer ": false,
	} {
		var warnings request.Warnings
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r = r.WithContext(request.WithWarnings(r.Context(), &warnings))
		r.Header.Set("Authorization", header)
		if _, err := Bearer(known("a")).AuthenticateRequest(r); err != nil {
			t.Errorf("%q: %v", header, err)
		}
		if got := warnings.Texts() != nil; got != warned {
			t.Errorf("%q: warned %v", header, got)
		}
	}
}
