package storage

import (
	"encoding/base64"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestContinueTokens(t *testing.T) {
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	tests := []struct{ token, after, err string }{
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"b\u0000"}`), "/p/b", ""},
		{encode(`{"v":"meta.k8s.io/v1","rv":-7,"start":"ns/b\u0000"}`), "/p/ns/b", ""},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"b"}`), "/p/a\xff", ""},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"/ns/b"}`), "/p/ns/a\xff", ""},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"/"}`), "/p/", ""},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"../secrets/b"}`), "", "continue key is not valid: ../secrets/b"},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"a/../../b"}`), "", "continue key is not valid: a/../../b"},
		{encode(`{"v":"meta.k8s.io/v1","rv":5,"start":""}`), "", "continue key is not valid: encoded start key empty"},
		{encode(`{"v":"meta.k8s.io/v1","rv":0,"start":"b"}`), "", "continue key is not valid: incorrect encoded start resourceVersion"},
		{encode(`{"v":"meta.k8s.io/v2","rv":5,"start":"b"}`), "", "continue key is not valid: server does not recognize this encoded version meta.k8s.io/v2"},
		{"%%%", "", "continue key is not valid: illegal base64 data"},
		{encode("[1]"), "", "continue key is not valid: json: cannot unmarshal array into Go value of type storage.continueToken"},
		{encode("x"), "", "continue key is not valid: invalid character"},
	}
	for _, tt := range tests {
		after, _, err := DecodeContinue(tt.token, "/p/")
		if after != tt.after || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", tt.token, after, err)
		}
	}
}

func FuzzContinueToken(f *testing.F) {
	f.Add("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJiXHUwMDAwIn0", "a", int64(5))
	f.Fuzz(func(t *testing.T, token, name string, revision int64) {
		if after, _, err := DecodeContinue(token, "/registry/x/ns/"); err == nil && !strings.HasPrefix(after, "/registry/x/ns/") {
			t.Fatalf("%q leads out of the list: %q", token, after)
		}
		if name == "" || path.Clean("/"+name) != "/"+name || !utf8.ValidString(name) || strings.HasSuffix(name, "\x00") || revision <= 0 {
			return // no key is like this
		}
		for _, root := range []string{"/p/", "/p"} {
			made, err := EncodeContinue("/p/"+name, root, revision)
			if err != nil {
				t.Fatal(err)
			}
			if after, r, err := DecodeContinue(made, "/p/"); err != nil || after != "/p/"+name || r != revision {
				t.Fatalf("%q at %d came back as %q at %d, %v", name, revision, after, r, err)
			}
		}
	})
}
