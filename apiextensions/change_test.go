package apiextensions

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestChangeUnderLoad changes the spec of a CRD again and again while clients
// use its objects: none gets an error, and watches just end.
func TestChangeUnderLoad(t *testing.T) {
	_, h, _ := serveWidgets(t)
	const list, changes = "/apis/example.com/v1/namespaces/a/widgets", 30
	ctx, cancel := context.WithCancel(t.Context())
	var failures, requests, watches atomic.Int64
	do := func(code int, method, path, body string) {
		requests.Add(1)
		if w := ask(ctx, h, method, path, body); w.Code != code && ctx.Err() == nil {
			if failures.Add(1) <= 3 {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	object := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q}}`, name)
	}
	do(http.StatusCreated, "POST", list, object("a"))
	var clients sync.WaitGroup
	client := func(f func(i int)) {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				f(i)
			}
		})
	}
	for c := range 2 {
		client(func(int) { do(http.StatusOK, "GET", list+"/a", "") })
		client(func(int) { do(http.StatusOK, "GET", list, "") })
		client(func(i int) {
			name := fmt.Sprintf("%d-%d", c, i)
			do(http.StatusCreated, "POST", list, object(name))
			do(http.StatusOK, "PATCH", list+"/"+name, `{"spec":{"size":4}}`)
			do(http.StatusOK, "DELETE", list+"/"+name, "")
		})
		client(func(int) {
			watches.Add(1)
			w := ask(ctx, h, "GET", list+"?watch=true", "")
			failed := w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"type":"ERROR"`)
			if failed && ctx.Err() == nil {
				if failures.Add(1) <= 3 {
					t.Errorf("watch: %d %s", w.Code, w.Body)
				}
			}
		})
	}
	crd := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
	for i := range changes {
		merge := strings.Replace(widgets, `"type":"object"`, fmt.Sprintf(`"description":"%d","type":"object"`, i), 1)
		do(http.StatusOK, "PATCH", crd, merge)
	}
	cancel()
	clients.Wait()
	if n := watches.Load(); n <= 4 {
		t.Errorf("%d watches while the CRD changed %d times: they do not end", n, changes)
	}
	t.Logf("%d of %d requests failed, %d watches", failures.Load(), requests.Load(), watches.Load())
}
