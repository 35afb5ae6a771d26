package apiextensions

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStatusIsSettled takes the conditions of a CRD away, time and again: the
// answer comes when they are there again, and no later write of the server's
// makes the version that is read then an old one.
func TestStatusIsSettled(t *testing.T) {
	_, h, _ := serveWidgets(t)
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
	for range 20 {
		if w := ask(t.Context(), h, "PATCH", crd+"/status", `{"status":{"conditions":[{"type":"Mine","status":"True"}]}}`); w.Code != http.StatusOK {
			t.Fatalf("patch: %d %s", w.Code, w.Body)
		}
		read := ask(t.Context(), h, "GET", crd, "")
		if !strings.Contains(read.Body.String(), "InitialNamesAccepted") {
			t.Fatalf("the conditions are not there again: %s", read.Body)
		}
		if w := ask(t.Context(), h, "PUT", crd+"/status", read.Body.String()); w.Code != http.StatusOK {
			t.Fatalf("put of what was read: %d %s", w.Code, w.Body)
		}
	}
}

// Who accepts nothing but a table of the status gets none: those who write it read it whole.
func TestStatusIsNoTable(t *testing.T) {
	_, h, _ := serveWidgets(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com/status", nil)
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusNotAcceptable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
