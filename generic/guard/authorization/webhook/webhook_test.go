package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication/webhook"
)

// caller returns a caller of a service that is served until the test ends.
func caller(t *testing.T, service http.HandlerFunc) *webhook.Caller {
	t.Helper()
	s := httptest.NewServer(service)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s/review}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", s.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := webhook.NewCaller(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthorize(t *testing.T) {
	asked, last := 0, ""
	c := caller(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/review" {
			t.Errorf("%v %s", err, r.URL)
		}
		raw, _ := json.Marshal(review.Spec)
		last = review.APIVersion + " " + string(raw)
		answers := map[string]string{"yes": `{"allowed":true,"reason":"r"}`, "no": `{"allowed":false,"reason":"n"}`, "never": `{"denied":true}`, "both": `{"allowed":true,"denied":true}`}
		if answers[review.Spec.User] == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"status":%s}`, answers[review.Spec.User])
	})
	a, err := New(Config{Caller: c, Version: "v1", AllowedTTL: time.Minute, DeniedTTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a.now = func() time.Time { return now }
	selector, err := labels.Parse("a in (b)")
	if err != nil {
		t.Fatal(err)
	}
	requirements, _ := selector.Requirements()
	for _, s := range []struct {
		name     string
		later    time.Duration
		decision authorizer.Decision
		reason   string
		fails    bool
		asked    int
	}{
		{"yes", 0, authorizer.Allow, "r", false, 1},
		{"yes", 30 * time.Second, authorizer.Allow, "r", false, 1},
		{"yes", time.Minute, authorizer.Allow, "r", false, 2},
		{"no", 0, authorizer.NoOpinion, "n", false, 3},
		{"no", 0, authorizer.NoOpinion, "n", false, 3},
		{"no", time.Second, authorizer.NoOpinion, "n", false, 4},
		{"never", 0, authorizer.Deny, "", false, 5},
		{"both", 0, authorizer.Deny, "", true, 6},
		{"unknown", 0, authorizer.NoOpinion, "", true, 7},
		{"unknown", 0, authorizer.NoOpinion, "", true, 8},
	} {
		now = now.Add(s.later)
		decision, reason, err := a.Authorize(context.Background(), &authorizer.Attributes{
			User: &user.Info{Name: s.name, Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}, Verb: "list", Resource: "pods", ResourceRequest: true,
			FieldSelector: fields.ParseSelectorOrDie("x!=y").Requirements(), LabelSelector: requirements,
		})
		if decision != s.decision || reason != s.reason || (err != nil) != s.fails || asked != s.asked {
			t.Errorf("%+v: %v %q %v after %d calls", s, decision, reason, err, asked)
		}
	}
	for _, part := range []string{"authorization.k8s.io/v1 ", `"groups":["g"]`, `"extra":{"k":["v"]}`, `"fieldSelector":{"requirements":[{"key":"x","operator":"NotIn","values":["y"]}]}`,
		`"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b"]}]}`} {
		if !strings.Contains(last, part) {
			t.Errorf("no %s in %s", part, last)
		}
	}
}

func TestV1beta1(t *testing.T) {
	raw := ""
	c := caller(t, func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		text, _ := json.Marshal(body)
		raw = string(text)
		_, _ = fmt.Fprint(w, `{"status":{"allowed":true}}`)
	})
	a, err := New(Config{Caller: c, Version: "v1beta1"})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := a.Authorize(context.Background(), &authorizer.Attributes{User: &user.Info{Name: "u", Groups: []string{"g"}}, Verb: "get", Path: "/x"})
	if d != authorizer.Allow || err != nil || !strings.Contains(raw, `"group":["g"]`) || !strings.Contains(raw, `"nonResourceAttributes":{"path":"/x","verb":"get"}`) {
		t.Errorf("%v %v %s", d, err, raw)
	}
	if _, err := New(Config{Caller: c, Version: "v2"}); err == nil {
		t.Error("v2 is taken")
	}
}
