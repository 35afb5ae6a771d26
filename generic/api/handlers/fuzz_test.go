package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"triplane.dev/generic/api/handlers/responsewriters"
)

// No patch may end in a panic, or in a status that is no answer.
func FuzzPatch(f *testing.F) {
	types := []string{"application/json-patch+json", mergePatch, "application/strategic-merge-patch+json", applyPatch}
	for _, body := range []string{
		`{}`, `[]`, `null`, `{"data":null}`, `{"data":{"$patch":"delete"}}`, `{"metadata":{"labels":{"a":"b"}},"$retainKeys":["x"]}`,
		`[{"op":"add","path":"/data/x","value":"y"}]`, `[{"op":"move","path":"/data/x"}]`, `[{"op":"remove","path":""}]`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", `{"metadata":{"$setElementOrder/finalizers":["x"],"finalizers":[1]}}`,
		`[{"op":"test","path":"/data/k"}]`, `[{"op":"copy","from":"","path":"/data/k"}]`, `{"metadata":null}`, `{"apiVersion":null}`,
	} {
		for i := range types {
			f.Add(i, body)
		}
	}
	s := newScope(f)
	f.Fuzz(func(t *testing.T, i int, body string) {
		newFake(s, "a")
		ct := types[uint(i)%uint(len(types))]
		w := call(Patch(s), "PATCH", "/configmaps/a?fieldManager=m", body, "Content-Type", ct)
		if w.Code < 200 || w.Code > 599 || w.Body.Len() == 0 {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

func FuzzListOptions(f *testing.F) {
	for _, q := range []string{"limit=1", "continue=e30", "labelSelector=a%20in%20(b", "fieldSelector=a=b\\", "resourceVersion=x&resourceVersionMatch=Exact", "watch=1&sendInitialEvents=true"} {
		f.Add(q, "name")
	}
	s := newScope(f)
	f.Fuzz(func(t *testing.T, query, name string) {
		r := httptest.NewRequest(http.MethodGet, "/x", nil)
		r.URL = &url.URL{Path: "/x", RawQuery: query}
		opts, err := s.listOptions(r, name)
		if (opts == nil) == (err == nil) {
			t.Errorf("%v %v", opts, err)
		}
		if err != nil && responsewriters.StatusOf(err).Code/100 != 4 {
			t.Errorf("%v", err)
		}
	})
}
