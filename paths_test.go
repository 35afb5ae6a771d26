package triplane

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What /livez?verbose, /readyz?verbose and / of a fresh kube-apiserver v1.37 list, a
// check or a path a line.
var (
	//go:embed testdata/livez.txt
	referenceLivez string
	//go:embed testdata/readyz.txt
	referenceReadyz string
	//go:embed testdata/paths.txt
	referencePaths string
)

// checkDifferences and pathDifferences have the reasons why a check or a path exists only in kube-apiserver, or
// only here.
var (
	checkDifferences = map[string]string{
		"loopback-serving-certificate":    "loopback requests are function calls, which need none",
		"controllers":                     "controllers run in the server",
		"poststarthook/start-controllers": "controllers run in the server",
	}
	pathDifferences = map[string]string{
		"/flagz": "a server that a program starts has no command line",
	}
)

func TestHealthChecksAreThoseOfKubeAPIServer(t *testing.T) {
	c := client(t, startServer(t, t.TempDir())).Discovery().RESTClient()
	verbose := func(path string) (names []string) {
		text, err := c.Get().AbsPath(path).Param("verbose", "").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutSuffix(strings.TrimSpace(line), " ok"); ok {
				names = append(names, strings.TrimPrefix(name, "[+]"))
			}
		}
		return names
	}
	wantSame(t, "/livez", verbose("/livez"), referenceLivez, checkDifferences)
	wantSame(t, "/healthz", verbose("/healthz"), referenceLivez, checkDifferences)
	wantSame(t, "/readyz", verbose("/readyz"), referenceReadyz, checkDifferences)

	text, err := c.Get().AbsPath("/").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var root struct{ Paths []string }
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	paths := make(map[string]string)
	for path, why := range pathDifferences {
		paths[path] = why
	}
	for check, why := range checkDifferences {
		for _, kind := range []string{"/healthz/", "/livez/", "/readyz/"} {
			paths[kind+check] = why
		}
	}
	wantSame(t, "/", root.Paths, referencePaths, paths)
}

// wantSame compares names in any order.
func wantSame(t *testing.T, what string, have []string, reference string, differences map[string]string) {
	t.Helper()
	want := strings.Split(strings.TrimSpace(reference), "\n")
	for _, name := range want {
		if !slices.Contains(have, name) && differences[name] == "" {
			t.Errorf("%s has no %s", what, name)
		}
	}
	for _, name := range have {
		if !slices.Contains(want, name) && differences[name] == "" {
			t.Errorf("%s has %s, which kube-apiserver has not", what, name)
		}
	}
}
