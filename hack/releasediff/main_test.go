package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func readTestdata(t *testing.T, release string) facts {
	t.Helper()
	f, root := facts{}, filepath.Join("testdata", release)
	if err := f.readTree(root, root, "k8s.io/api"); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDifferences(t *testing.T) {
	from, to := readTestdata(t, "old"), readTestdata(t, "new")
	from.countMarkers(to)
	var out strings.Builder
	if err := printDifferences(&out, from, to, project{words: map[string]bool{"gardenbeds": true}}); err != nil {
		t.Fatal(err)
	}
	const want = `## Lifecycle

~ apps/v1.Garden removed: 1.40 → 1.41

## Feature gates of fields

+ GardenBeds apps/v1.Garden.beds

## Types

+ apps/v1.Bed: struct (missing)

## Fields

+ apps/v1.Garden.beds: []Bed (missing)
- apps/v1.Garden.shed
~ apps/v1.Garden.size: int32 → *int64

## Markers

~ +k8s:minimum: 0 → 1 fields and types

## Constants

+ apps/v1.Harvested: "Harvested" (missing)

3 additions have no counterpart in the project.
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// Two servers, the newer of which has a resource, a field and a role more.
func TestServers(t *testing.T) {
	serve := func(newer bool) *server {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			more := func(text string) string {
				if newer {
					return "," + text
				}
				return ""
			}
			switch {
			case r.Header.Get("Authorization") != "Bearer token":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/apis":
				fmt.Fprint(w, `{"groups":[{"versions":[{"groupVersion":"apps/v1"}]}]}`)
			case r.URL.Path == "/apis/apps/v1":
				fmt.Fprint(w, `{"resources":[{"name":"gardens","kind":"Garden"}`+more(`{"name":"gardens/scale","kind":"Scale","verbs":["get"]}`)+`]}`)
			case r.URL.Path == "/openapi/v2":
				fmt.Fprint(w, `{"definitions":{"Garden":{"properties":{"size":{"type":"integer"}`+more(`"beds":{"type":"array"}`)+`}}}}`)
			case strings.HasSuffix(r.URL.Path, "clusterroles"):
				fmt.Fprint(w, `{"items":[{"metadata":{"name":"view"}}`+more(`{"metadata":{"name":"system:gardener"},"rules":[]}`)+`]}`)
			default:
				fmt.Fprint(w, `{}`)
			}
		}))
		t.Cleanup(s.Close)
		return newServer(s.URL, "token")
	}
	from, to := facts{}, facts{}
	for f, s := range map[*facts]*server{&from: serve(false), &to: serve(true)} {
		if err := s.read(*f); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := printDifferences(&out, from, to, project{words: map[string]bool{"scale": true, "gardener": true}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+ /apis/apps/v1/gardens/scale: Scale[get] []\n", "+ Garden.beds: array[] <nil> false (missing)\n",
		"clusterroles /system:gardener: {\"rules\":[]}\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	if err := newServer(refusing(t), "wrong").read(facts{}); err == nil {
		t.Error("a server that refuses the token is read")
	}
}

// refusing returns the URL of a server that rejects every request.
func refusing(t *testing.T) string {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(s.Close)
	return s.URL
}

func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{{}, {"-from", "v0.36.2"}, {"-from", "v0.36.2", "-to", "v0.37.2", "-to-server", "https://x"}, {"-nosuch"}} {
		if run(args, &strings.Builder{}) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
