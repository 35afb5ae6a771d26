package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triplane/generic/request"
)

func TestZPageForms(t *testing.T) {
	p := &zpage{name: "statusz", kind: "Statusz",
		text:   func() string { return "text" },
		object: func() map[string]any { return map[string]any{"paths": []string{"/x"}} }}
	const object = ";v=v1beta1;g=config.k8s.io;as=Statusz"
	for accept, want := range map[string]struct {
		code            int
		media, contains string
		warned          bool
	}{
		"":                          {200, "text/plain; charset=utf-8", "text", false},
		"text/html, */*;q=0.1":      {200, "text/plain; charset=utf-8", "text", false},
		"application/json" + object: {200, "application/json;g=config.k8s.io;v=v1beta1;as=Statusz", `"paths":["/x"]`, false},
		"application/yaml" + object: {200, "application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz", "kind: Statusz", false},
		"application/json;v=v1alpha1;g=config.k8s.io;as=Statusz, application/json" + object: {
			200, "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz", `"config.k8s.io/v1alpha1"`, true},
		"application/json":          {406, "application/json", "only the following media types are accepted: application/json, application/yaml, text/plain", false},
		"application/cbor" + object: {406, "application/json", `"reason":"NotAcceptable"`, false},
	} {
		warnings := &request.Warnings{}
		r := httptest.NewRequest(http.MethodGet, "/statusz", http.NoBody)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r.WithContext(request.WithWarnings(t.Context(), warnings)))
		if w.Code != want.code || w.Header().Get("Content-Type") != want.media || !strings.Contains(w.Body.String(), want.contains) || (warnings.Texts() != nil) != want.warned {
			t.Errorf("%q: %d %v %s %v", accept, w.Code, w.Header(), w.Body, warnings.Texts())
		}
	}
}
