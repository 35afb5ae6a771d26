package kindtest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/net"
)

// Rewrite returns the value of the flag -rewrite, which a test binary that plays
// stories defines with it.
func Rewrite() *bool {
	return flag.Bool("rewrite", false, "replace the expected answers of stories by those that come")
}

// stepTime bounds a step, above all watches that do not see what they expect.
const stepTime = 20 * time.Second

// Play plays the story of a file. Transport reaches a server as a user who may
// do everything, impersonation included.
func Play(t *testing.T, transport http.RoundTripper, file string, rewrite bool) {
	t.Helper()
	s, err := readStory(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{transport: transport, vars: map[string]string{}}
	if err := p.prepare(t.Context(), s.namespace()); err != nil {
		t.Fatal(err)
	}
	changed := false
	for i := range s.parts[1:] {
		part := &s.parts[i+1]
		step, err := part.parse(p.vars)
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", file, part.line, part.title(), err)
		}
		got, err := p.ask(t.Context(), step)
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", file, part.line, part.title(), err)
		}
		if err := p.settle(t.Context(), step, got); err != nil {
			t.Fatalf("%s:%d: %s: %v", file, part.line, part.title(), err)
		}
		differences := got.differences(step)
		switch {
		case len(differences) == 0:
		case rewrite:
			part.text, changed = got.rewrite(part.text, step), true
		default:
			t.Errorf("%s:%d: %s\n  %s", file, part.line, part.title(), strings.Join(differences, "\n  "))
		}
	}
	if changed {
		if err := s.write(); err != nil {
			t.Fatal(err)
		}
	}
}

// player sends requests and remembers the variables.
type player struct {
	transport http.RoundTripper
	vars      map[string]string
}

// prepare makes a story's namespace, and in it what a controller would make.
func (p *player) prepare(ctx context.Context, namespace string) error {
	for _, s := range []*step{
		{method: "POST", path: "/api/v1/namespaces", body: named(namespace)},
		{method: "POST", path: "/api/v1/namespaces/" + namespace + "/serviceaccounts", body: named("default")},
	} {
		a, err := p.ask(ctx, s)
		if err != nil {
			return err
		}
		if a.code != http.StatusCreated {
			return fmt.Errorf("%s: %s", s.path, a.message())
		}
		if err := p.settle(ctx, s, a); err != nil {
			return err
		}
	}
	return nil
}

// settle waits after a write until the server's own cache of the kind has seen
// it, from which the admission plugins read: a list of now comes from there.
func (p *player) settle(ctx context.Context, s *step, a *answer) error {
	switch s.method {
	case "GET", "TABLE", "WATCH":
		return nil
	}
	if a.code >= http.StatusBadRequest {
		return nil
	}
	_, err := p.ask(ctx, &step{method: "GET", path: collection(s.path) + "?limit=1"})
	return err
}

// collection is the path of the collection that a path of an object, or of its
// subresource, is in.
func collection(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	prefix := 3 // apis, group, version
	if parts[0] == "api" {
		prefix = 2
	}
	if len(parts) > prefix+2 && parts[prefix] == "namespaces" && parts[prefix+2] != "status" &&
		parts[prefix+2] != "finalize" {
		prefix += 2
	}
	return "/" + strings.Join(parts[:min(prefix+1, len(parts))], "/")
}

func named(name string) any { return map[string]any{"metadata": map[string]any{"name": name}} }

// verbs are the methods that HTTP does not have.
var verbs = map[string]struct{ method, contentType, accept string }{
	"PATCH":     {"PATCH", "application/merge-patch+json", ""},
	"APPLY":     {"PATCH", "application/apply-patch+yaml", ""},
	"STRATEGIC": {"PATCH", "application/strategic-merge-patch+json", ""},
	"JSONPATCH": {"PATCH", "application/json-patch+json", ""},
	"TABLE":     {"GET", "", "application/json;as=Table;v=v1;g=meta.k8s.io"},
	"WATCH":     {"GET", "", ""},
}

// ask sends a step's request and saves what the step wants from the answer.
func (p *player) ask(ctx context.Context, s *step) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	r, err := request(ctx, s)
	if err != nil {
		return nil, err
	}
	w, err := p.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	a := &answer{code: w.StatusCode}
	warnings, errs := net.ParseWarningHeaders(w.Header["Warning"])
	if len(errs) > 0 {
		return nil, errs[0]
	}
	for _, warning := range warnings {
		a.warnings = append(a.warnings, warning.Text)
	}
	if s.method == "WATCH" && a.code == http.StatusOK {
		a.body = events(w.Body, s.answer)
		return a, nil
	}
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, &a.body) != nil {
		a.body = string(text)
	}
	for name, path := range s.save {
		v, ok := lookup(a.body, path)
		if !ok {
			return nil, fmt.Errorf("the answer has no %s to save: %s", path, text)
		}
		p.vars[name] = fmt.Sprint(v)
	}
	return a, nil
}

func request(ctx context.Context, s *step) (*http.Request, error) {
	verb, special := verbs[s.method]
	if !special {
		verb.method, verb.contentType = s.method, "application/json"
	}
	var body io.Reader
	if s.body != nil {
		text, err := json.Marshal(s.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	path := s.path
	switch s.method {
	case "WATCH":
		path = withQuery(path, "watch=true")
	case "APPLY":
		path = withQuery(path, "fieldManager=story")
	}
	r, err := http.NewRequestWithContext(ctx, verb.method, "https://triplane.test"+path, body)
	if err != nil {
		return nil, err
	}
	accept := verb.accept
	if accept == "" {
		accept = "application/json"
	}
	r.Header.Set("Accept", accept)
	if body != nil {
		r.Header.Set("Content-Type", verb.contentType)
	}
	who := s.user
	if len(who) == 0 {
		who = []string{"admin", "system:masters"}
	}
	r.Header.Set("Impersonate-User", who[0])
	r.Header["Impersonate-Group"] = who[1:]
	return r, nil
}

func withQuery(path, query string) string {
	if strings.Contains(path, "?") {
		return path + "&" + query
	}
	return path + "?" + query
}

// events reads as many events of a watch as are expected.
func events(r io.Reader, want any) any {
	expected, _ := want.([]any)
	all := []any{}
	for d := json.NewDecoder(r); len(all) < len(expected); {
		var e struct {
			Type   string `json:"type"`
			Object any    `json:"object"`
		}
		if d.Decode(&e) != nil {
			break
		}
		all = append(all, map[string]any{e.Type: e.Object})
	}
	return all
}
