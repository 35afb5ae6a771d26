package mux

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestPathRecorderMux(t *testing.T) {
	m := NewPathRecorderMux("test")
	m.Handle("/a", says("exact a"))
	m.UnlistedHandle("/a/b/c", says("exact c"))
	m.HandlePrefix("/a/b/", says("prefix b"))
	m.UnlistedHandlePrefix("/a/b/c/", says("prefix c"))
	m.NotFoundHandler(says("not found"))
	for path, want := range map[string]string{
		"/a":       "exact a",
		"/a/":      "not found",
		"/a/b":     "not found",
		"/a/b/":    "prefix b",
		"/a/b/x/y": "prefix b",
		"/a/b/c":   "exact c",
		"/a/b/c/":  "prefix c",
		"/a/b/c/d": "prefix c",
		"/":        "not found",
		"//a":      "not found",
	} {
		if got := get(m, path).Body.String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got, want := m.ListedPaths(), []string{"/a", "/a/b/"}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	m.Unregister("/a/b/c/")
	if got := get(m, "/a/b/c/d").Body.String(); got != "prefix b" {
		t.Errorf("after unregistering: %q", got)
	}
	m.Unregister("/nobody")
}

func TestPathRecorderMuxPanics(t *testing.T) {
	for name, f := range map[string]func(m *PathRecorderMux){
		"exact twice":          func(m *PathRecorderMux) { m.Handle("/a", says("")) },
		"prefix twice":         func(m *PathRecorderMux) { m.UnlistedHandlePrefix("/p/", says("")) },
		"prefix without slash": func(m *PathRecorderMux) { m.HandlePrefix("/q", says("")) },
		"path without slash":   func(m *PathRecorderMux) { m.Handle("q", says("")) },
		"handler that is not":  func(m *PathRecorderMux) { m.Handle("/q", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewPathRecorderMux("test")
			m.Handle("/a", says("a"))
			m.HandlePrefix("/p/", says("p"))
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
				if got := get(m, "/a").Body.String(); got != "a" {
					t.Errorf("the mux is damaged: %q", got)
				}
			}()
			f(m)
		})
	}
}

func TestPathRecorderMuxChangesWhileServing(t *testing.T) {
	m := NewPathRecorderMux("test")
	m.Handle("/stays", says("stays"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				path := fmt.Sprintf("/%d/%d/", i, j)
				m.HandlePrefix(path, says(path))
				if got := get(m, path+"x").Body.String(); got != path {
					t.Errorf("%s: %q", path, got)
				}
				if got := get(m, "/stays").Body.String(); got != "stays" {
					t.Errorf("/stays: %q", got)
				}
				m.Unregister(path)
			}
		})
	}
	all.Wait()
	if got := m.ListedPaths(); !slices.Equal(got, []string{"/stays"}) {
		t.Errorf("left: %v", got)
	}
}

func BenchmarkPathRecorderMux(b *testing.B) {
	m := NewPathRecorderMux("bench")
	for i := range 5000 {
		m.Handle(fmt.Sprintf("/apis/g%d.example.com/v1", i), says(""))
		m.UnlistedHandlePrefix(fmt.Sprintf("/apis/g%d.example.com/v1/", i), says(""))
	}
	t := m.published()
	b.ReportAllocs()
	for b.Loop() {
		t.find("/apis/g4000.example.com/v1/namespaces/default/widgets/a")
	}
}
