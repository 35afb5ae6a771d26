package mux

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// PathRecorderMux serves paths that are not API resources: exact paths and prefixes. Paths can be added and
// removed while it serves. A lookup takes no lock but the first one after a change; its cost depends on the depth of
// the path, not on the number of paths. The mux also records the paths that the index lists. Registering a path twice
// panics: it is a programming error.
type PathRecorderMux struct {
	name string

	mu      sync.Mutex                // protects changed
	changed *pathTable                // the next table; writers change it while nothing is published
	table   atomic.Pointer[pathTable] // what is published; nil after a change, until the next lookup
}

// pathTable is immutable once it is published. Its maps are copy-on-write trees: a change copies a few nodes, so
// that adding thousands of paths one by one is cheap while others are looked up.
type pathTable struct {
	exact    *btree.Map[string, route]
	prefixes *btree.Map[string, route] // keys end in "/"
	notFound http.Handler
}

type route struct {
	handler http.Handler
	listed  bool
}

// NewPathRecorderMux returns a mux without paths, which responds 404.
func NewPathRecorderMux(name string) *PathRecorderMux {
	return &PathRecorderMux{name: name, changed: &pathTable{
		exact:    new(btree.Map[string, route]),
		prefixes: new(btree.Map[string, route]),
		notFound: http.HandlerFunc(http.NotFound),
	}}
}

// Handle serves exactly this path, and the index lists it.
func (m *PathRecorderMux) Handle(path string, h http.Handler) { m.add(path, h, false, true) }

// HandleFunc is like Handle for a function.
func (m *PathRecorderMux) HandleFunc(path string, h http.HandlerFunc) { m.Handle(path, h) }

// UnlistedHandle serves exactly this path; the index omits it.
func (m *PathRecorderMux) UnlistedHandle(path string, h http.Handler) { m.add(path, h, false, false) }

// UnlistedHandleFunc is like UnlistedHandle for a function.
func (m *PathRecorderMux) UnlistedHandleFunc(path string, h http.HandlerFunc) {
	m.UnlistedHandle(path, h)
}

// HandlePrefix serves everything below the path, which ends in "/", and the index lists it. The longest prefix
// takes precedence, and exact paths take precedence over prefixes.
func (m *PathRecorderMux) HandlePrefix(path string, h http.Handler) { m.add(path, h, true, true) }

// UnlistedHandlePrefix is like HandlePrefix, but the index omits the path.
func (m *PathRecorderMux) UnlistedHandlePrefix(path string, h http.Handler) {
	m.add(path, h, true, false)
}

// NotFoundHandler sets the handler of requests that match no path.
func (m *PathRecorderMux) NotFoundHandler(h http.Handler) {
	m.change(func(t *pathTable) { t.notFound = h })
}

// Unregister removes the exact path and the prefix, if they exist. It does not affect requests in flight.
func (m *PathRecorderMux) Unregister(path string) {
	m.change(func(t *pathTable) {
		t.exact.Delete(path)
		t.prefixes.Delete(path)
	})
}

// ListedPaths returns the listed paths, sorted.
func (m *PathRecorderMux) ListedPaths() []string {
	var paths []string
	collect := func(path string, r route) bool {
		if r.listed {
			paths = append(paths, path)
		}
		return true
	}
	t := m.published()
	t.exact.Scan(collect)
	t.prefixes.Scan(collect)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Serves reports whether a path is registered, exact or as a prefix.
func (m *PathRecorderMux) Serves(path string) bool {
	t := m.published()
	if _, ok := t.exact.Get(path); ok {
		return true
	}
	_, ok := t.prefixes.Get(path)
	return ok
}

// ServeHTTP dispatches to the exact path, else the longest prefix, else the not-found handler.
func (m *PathRecorderMux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.published().find(r.URL.Path).ServeHTTP(w, r)
}

func (t *pathTable) find(path string) http.Handler {
	_, _, h := t.match(path)
	return h
}

// match returns the registered path or prefix that matches a path, "" if none does, with its handler.
func (t *pathTable) match(path string) (found string, exact bool, h http.Handler) {
	if r, ok := t.exact.Get(path); ok {
		return path, true, r.handler
	}
	if t.prefixes.Len() > 0 {
		for i := strings.LastIndexByte(path, '/'); i >= 0; i = strings.LastIndexByte(path[:i], '/') {
			if r, ok := t.prefixes.Get(path[:i+1]); ok {
				return path[:i+1], false, r.handler
			}
		}
	}
	return "", false, t.notFound
}

func (m *PathRecorderMux) add(path string, h http.Handler, prefix, listed bool) {
	if !strings.HasPrefix(path, "/") || prefix && !strings.HasSuffix(path, "/") {
		panic(fmt.Sprintf("%s: %q is not a path that can be registered", m.name, path))
	}
	if h == nil {
		panic(fmt.Sprintf("%s: no handler for %q", m.name, path))
	}
	m.change(func(t *pathTable) {
		into := t.exact
		if prefix {
			into = t.prefixes
		}
		if _, taken := into.Get(path); taken {
			panic(fmt.Sprintf("%s: %q is registered already", m.name, path))
		}
		into.Set(path, route{handler: h, listed: listed})
	})
}

// change changes the next table.
func (m *PathRecorderMux) change(f func(*pathTable)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.table.Load(); old != nil {
		m.changed = &pathTable{exact: old.exact.Copy(), prefixes: old.prefixes.Copy(), notFound: old.notFound}
		m.table.Store(nil)
	}
	f(m.changed)
}

// published returns the table with all changes.
func (m *PathRecorderMux) published() *pathTable {
	if t := m.table.Load(); t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.table.Store(m.changed)
	return m.changed
}
