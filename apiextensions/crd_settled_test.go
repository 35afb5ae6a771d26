package apiextensions

import (
	"net/http"
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
