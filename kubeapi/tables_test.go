package kubeapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// The subresources of kinds whose writers read no tables are refused to clients that
// accept nothing else.
func TestSubresourcesWithoutTables(t *testing.T) {
	server := startServer(t)
	for path, body := range map[string]string{
		"/api/v1/namespaces/any/finalize":                     `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"any"}}`,
		"/api/v1/namespaces/any/pods/any/resize":              `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"any"}}`,
		"/api/v1/namespaces/any/pods/any/ephemeralcontainers": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"any"}}`,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://server"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		answer, err := server.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotAcceptable {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
