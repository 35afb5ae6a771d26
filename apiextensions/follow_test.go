package apiextensions

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestUnreadableDefinition serves what can be read, but does not claim to know all CRDs before
// the one that cannot be read is mended or gone.
func TestUnreadableDefinition(t *testing.T) {
	for name, end := range map[string]string{"mended": storedWidgets, "gone": ""} {
		t.Run(name, func(t *testing.T) {
			const lost = "losts.example.com"
			s, _, backend := startOn(t, map[string]string{lost: "{", "widgets.example.com": storedWidgets})
			select {
			case <-s.known:
			case <-time.After(10 * time.Second):
				t.Fatal("the server does not become ready")
			}
			do := sender(s.GenericAPIServer.Handler.FullHandlerChain)
			if code, body := do("GET", "/apis/example.com/v1/namespaces/a/widgets", ""); code != 200 {
				t.Errorf("what can be read: %d %s", code, body)
			}
			select {
			case <-s.CRDsKnown():
				t.Error("all are said to be known")
			default:
			}
			kv, err := backend.Get(t.Context(), definitionKey+lost)
			if err != nil {
				t.Fatal(err)
			}
			if end == "" {
				_, err = backend.Delete(t.Context(), definitionKey+lost, kv.Revision)
			} else {
				_, err = backend.Update(t.Context(), definitionKey+lost, []byte(strings.ReplaceAll(end, "widget", "lost")), kv.Revision, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.CRDsKnown():
			case <-time.After(10 * time.Second):
				t.Error("nor are they later")
			}
		})
	}
}

// TestApplyWithoutStructure applies by what the values are where storage holds a schema that is not
// structural, as no client may write it.
func TestApplyWithoutStructure(t *testing.T) {
	const schema = `{"properties":{"spec":{"properties":{"a":{}}}}}`
	s, _, _ := startOn(t, map[string]string{"widgets.example.com": strings.Replace(storedWidgets, `{"type":"object"}`, schema, 1)})
	select {
	case <-s.known:
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not become ready")
	}
	r := httptest.NewRequest(http.MethodPatch, "/apis/example.com/v1/namespaces/a/widgets/w?fieldManager=m",
		strings.NewReader(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":{"b":1},"c":2}}`))
	r.Header.Set("Content-Type", "application/apply-patch+yaml")
	w := httptest.NewRecorder()
	s.GenericAPIServer.Handler.FullHandlerChain.ServeHTTP(w, r)
	if w.Code != 201 || !strings.Contains(w.Body.String(), `"f:spec":{".":{},"f:a":{".":{},"f:b":{}},"f:c":{}}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestBeforeDefinitionsAreKnown says of nothing that it is not there.
func TestBeforeDefinitionsAreKnown(t *testing.T) {
	s, _, _ := startOn(t, nil)
	select {
	case <-s.known:
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not become ready")
	}
	whole := s.GenericAPIServer.Handler.FullHandlerChain
	do := sender(whole)
	const path = "/apis/example.com/v1/namespaces/a/widgets"
	if code, body := do("GET", path, ""); code != 404 {
		t.Errorf("known: %d %s", code, body)
	}
	unknown := &Server{known: make(chan struct{})}
	do = sender(unknown.onceKnown(whole))
	if code, body := do("GET", path, ""); code != 503 || !strings.Contains(body, `"retryAfterSeconds":5`) {
		t.Errorf("not known yet: %d %s", code, body)
	}
}

const storedWidgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com","uid":"1","generation":1},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"None"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]},
"status":{"acceptedNames":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"storedVersions":["v1"],
"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}}`
