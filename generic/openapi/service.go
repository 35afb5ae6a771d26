package openapi

import (
	"sort"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Source gives the documents of one path of /openapi/v3 ("apis/example.com/v1").
// Its methods are called when a client asks and the answer is not kept.
type Source interface {
	// V3 returns the path's document. Both may return nil for none.
	V3() (*spec3.OpenAPI, error)
	// V2 returns what the path adds to /openapi/v2.
	V2() (*spec.Swagger, error)
}

// Service answers /openapi/v2 and /openapi/v3. It is safe for concurrent use.
type Service struct {
	builder *Builder

	mu       sync.Mutex
	services []func() []*restful.WebService
	sources  map[string]Source
	v3       map[string]*document // by path, nil until asked for
	v2       *document
}

// NewService returns a service without documents.
func NewService(b *Builder) *Service {
	return &Service{builder: b, sources: map[string]Source{}, v3: map[string]*document{}}
}

// AddWebServices adds the routes of a server. They are asked for when a document
// is built; call Changed after they change.
func (s *Service) AddWebServices(services func() []*restful.WebService) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.services = append(s.services, services)
	s.v2, s.v3 = nil, map[string]*document{}
}

// Set makes src the source of a path, replacing what was there.
func (s *Service) Set(path string, src Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[path] = src
	delete(s.v3, path)
	s.v2 = nil
}

// Remove takes a path's source away.
func (s *Service) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sources, path)
	delete(s.v3, path)
	s.v2 = nil
}

// Is tells whether a path has a source of which what is true.
func (s *Service) Is(path string, what func(source any) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	src, ok := s.sources[path]
	return ok && what(src)
}

// paths returns the paths of all documents, in order.
func (s *Service) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for path := range s.sources {
		seen[path] = true
	}
	for _, ws := range s.webServices() {
		if documented(ws) {
			seen[strings.Trim(ws.RootPath(), "/")] = true
		}
	}
	out := make([]string, 0, len(seen))
	for path := range seen {
		out = append(out, path)
	}
	sort.Strings(out)
	return out
}

// documented leaves out the routes that have no place in a document.
func documented(ws *restful.WebService) bool {
	path := strings.Trim(ws.RootPath(), "/")
	return path != "" && path != "logs"
}

func (s *Service) webServices() []*restful.WebService {
	var all []*restful.WebService
	for _, f := range s.services {
		all = append(all, f()...)
	}
	return all
}

// documentV3 returns the document of a path, nil if there is none.
func (s *Service) documentV3(path string) (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.v3[path]; d != nil {
		return d, nil
	}
	doc, err := s.buildV3(path)
	if doc == nil || err != nil {
		return nil, err
	}
	d, err := newDocument(doc)
	if err != nil {
		return nil, err
	}
	s.v3[path] = d
	return d, nil
}

func (s *Service) buildV3(path string) (*spec3.OpenAPI, error) {
	if src := s.sources[path]; src != nil {
		return src.V3()
	}
	var mine []*restful.WebService
	for _, ws := range s.webServices() {
		if documented(ws) && strings.Trim(ws.RootPath(), "/") == path {
			mine = append(mine, ws)
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	return s.builder.V3(mine, groupVersion(path))
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

// documentV2 returns the one document of /openapi/v2.
func (s *Service) documentV2() (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.v2 != nil {
		return s.v2, nil
	}
	doc, err := s.buildV2()
	if err != nil {
		return nil, err
	}
	d, err := newDocument(doc)
	if err != nil {
		return nil, err
	}
	s.v2 = d
	return d, nil
}

func (s *Service) buildV2() (*spec.Swagger, error) {
	var all []*restful.WebService
	for _, ws := range s.webServices() {
		if documented(ws) {
			all = append(all, ws)
		}
	}
	doc, err := s.builder.V2(all)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(s.sources))
	for path := range s.sources {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		more, err := s.sources[path].V2()
		if err != nil || more == nil {
			continue // one bad source must not take away everybody's document
		}
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(doc, more); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
