package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triplane.dev/generic/base/request"
)

func TestZPageForms(t *testing.T) {
	const object = ";v=v1beta1;g=config.k8s.io;as=Statusz"
	for accept, want := range map[string]zanswer{
		"":                          {200, "text/plain; charset=utf-8", "text", false},
		"text/html, */*;q=0.1":      {200, "text/plain; charset=utf-8", "text", false},
		"application/json" + object: {200, "application/json;g=config.k8s.io;v=v1beta1;as=Statusz", `"paths":["/x"]`, false},
		"application/yaml" + object: {200, "application/yaml;g=config.k8s.io;v=v1beta1;as=Statusz", "kind: Statusz", false},
		"application/json;v=v1alpha1;g=config.k8s.io;as=Statusz, application/json" + object: {
			200, "application/json;g=config.k8s.io;v=v1alpha1;as=Statusz", `"config.k8s.io/v1alpha1"`, true},
		"application/json":          {406, "application/json", "only the following media types are accepted: application/json, application/yaml, text/plain", false},
		"application/cbor" + object: {406, "application/json", `"reason": "NotAcceptable"`, false},
		"application/yaml":          {406, "application/yaml", "reason: NotAcceptable", false},
	} {
		want.check(t, accept, false)
	}
}

func TestZPageCBOR(t *testing.T) {
	const (
		object   = ";v=v1beta1;g=config.k8s.io;as=Statusz"
		accepted = "only the following media types are accepted: application/json, application/yaml, text/plain, application/cbor"
	)
	for accept, want := range map[string]zanswer{
		"application/cbor" + object:                              {200, "application/cbor;g=config.k8s.io;v=v1beta1;as=Statusz", "DkindGStatusz", false},
		"application/cbor;v=v1alpha1;g=config.k8s.io;as=Statusz": {200, "application/cbor;g=config.k8s.io;v=v1alpha1;as=Statusz", "v1alpha1", true},
		"application/cbor":                                       {406, "application/cbor", accepted, false},
		"application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz":    {406, "application/json", accepted, false},
	} {
		want.check(t, accept, true)
	}
}

type zanswer struct {
	code            int
	media, contains string
	warned          bool
}

// check compares the response of a page for an Accept header.
func (want zanswer) check(t *testing.T, accept string, cbor bool) {
	t.Helper()
	p := &zpage{name: "statusz", kind: "Statusz",
		text:   func() string { return "text" },
		object: func() map[string]any { return map[string]any{"paths": []string{"/x"}} },
		cbor:   cbor}
	warnings := &request.Warnings{}
	r := httptest.NewRequest(http.MethodGet, "/statusz", http.NoBody)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r.WithContext(request.WithWarnings(t.Context(), warnings)))
	if w.Code != want.code || w.Header().Get("Content-Type") != want.media || !strings.Contains(w.Body.String(), want.contains) || (warnings.Texts() != nil) != want.warned {
		t.Errorf("%q: %d %v %s %v", accept, w.Code, w.Header(), w.Body, warnings.Texts())
	}
}
