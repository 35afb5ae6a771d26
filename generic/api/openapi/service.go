package openapi

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Source gives the documents of one path of /openapi/v3 ("apis/example.com/v1").
// Its methods are called when a client asks and the answer is not kept; they may
// be called from several goroutines.
type Source interface {
	// V3 writes the path's document. What is left empty is none.
	V3(d *Draft) error
	// V2 writes what the path adds to /openapi/v2. What was written before an error stays.
	V2(d *Draft) error
}

// Hasher is implemented by Sources that can say without building a document
// whether it would be another one: the index of ten thousand documents then
// builds none.
type Hasher interface {
	// Hash returns a text that differs where the document does; "" if it cannot
	// be notified.
	Hash() string
}

// Service answers /openapi/v2 and /openapi/v3. It is safe for concurrent use.
type Service struct {
	builder *Builder
	// parent has the routes for Nested services, which share its documents; has selects their paths.
	parent *Service
	has    func(path string) bool

	mu       sync.Mutex
	services []func() []WebService
	sources  map[string]*entry
	// routes are the documents of the web services, made of known of them.
	routes map[string]*entry
	known  int
	// changes counts what makes v2 another document.
	changes uint64

	v2 swagger
}

// WebService is one of go-restful, whose routes are made, with what describes them, whenever a
// document is: it takes some megabytes to keep them.
type WebService struct {
	Path       string
	Parameters []*restful.Parameter // of the path
	Routes     func() []restful.Route
}

// NewService returns a service without documents.
func NewService(b *Builder) *Service {
	return &Service{builder: b, sources: map[string]*entry{}}
}

// Nested returns a service that has the documents of the routes of s whose paths ("apis/apps/v1") has selects, and its
// own sources. Its own web services have no documents.
func (s *Service) Nested(has func(path string) bool) *Service {
	return &Service{builder: s.builder, parent: s, has: has, sources: map[string]*entry{}}
}

// AddWebServices adds the routes of a server. They are asked for when a document
// is built.
func (s *Service) AddWebServices(services func() []WebService) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services = append(s.services, services)
	s.routes = nil
	s.changes++
}

// Set makes src the source of a path, replacing what was there.
func (s *Service) Set(path string, src Source) {
	s.SetIf(path, src, func(Source) bool { return true })
}

// Remove removes a path's source.
func (s *Service) Remove(path string) { s.Set(path, nil) }

// SetIf makes src the source of a path, or removes its source if src is nil, where may allows
// that. may is called with the present source, nil if there is none, and must not block.
func (s *Service) SetIf(path string, src Source, may func(present Source) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var present Source
	if e := s.sources[path]; e != nil {
		present = e.source
	}
	switch {
	case !may(present):
		return
	case src == nil:
		delete(s.sources, path)
	default:
		s.sources[path] = &entry{path: path, source: src}
	}
	s.changes++
}

// entries returns the documents of all paths, in order.
func (s *Service) entries() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readRoutes()
	all := maps.Clone(s.routes)
	maps.Copy(all, s.sources)
	out := make([]*entry, 0, len(all))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[path])
	}
	return out
}

// entry returns the document of a path, nil if there is none.
func (s *Service) entry(path string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.sources[path]; e != nil {
		return e
	}
	s.readRoutes()
	return s.routes[path]
}

// readRoutes finds the documents of the web services, if more were added since
// the last time.
func (s *Service) readRoutes() {
	if s.parent != nil {
		if s.routes == nil {
			s.routes = s.parent.routesFor(s.has)
		}
		return
	}
	all := s.webServices()
	if s.routes != nil && s.known == len(all) {
		return
	}
	s.routes, s.known = map[string]*entry{}, len(all)
	for _, ws := range all {
		path := strings.Trim(ws.Path, "/")
		if s.routes[path] == nil {
			s.routes[path] = &entry{path: path, builder: s.builder}
		}
		s.routes[path].services = append(s.routes[path].services, ws)
	}
}

// routesFor returns the documents of selected paths.
func (s *Service) routesFor(has func(path string) bool) map[string]*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readRoutes()
	routes := maps.Clone(s.routes)
	maps.DeleteFunc(routes, func(path string, _ *entry) bool { return !has(path) })
	return routes
}

// webServices returns those that have a place in a document.
func (s *Service) webServices() []WebService {
	if s.parent != nil {
		s.parent.mu.Lock()
		defer s.parent.mu.Unlock()
		return slices.DeleteFunc(s.parent.webServices(),
			func(ws WebService) bool { return !s.has(strings.Trim(ws.Path, "/")) })
	}
	var all []WebService
	for _, f := range s.services {
		for _, ws := range f() {
			if path := strings.Trim(ws.Path, "/"); path != "" && path != "logs" {
				all = append(all, ws)
			}
		}
	}
	return all
}

// groupVersion is what a document's path says; empty for "apis" and others that
// are of no group version.
func groupVersion(path string) schema.GroupVersion {
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}
	case len(parts) == 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}
	}
	return schema.GroupVersion{}
}
