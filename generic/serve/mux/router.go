package mux

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/routes"
)

// router finds the service of a request by its path, and the route by the path's elements, so that the cost does not
// depend on the number of resources.
//
// It reads a snapshot of the added services and of those in the go-restful container, which is taken at the first
// request and after each change. The library's router selects the routes of the container's services.
type router struct {
	container *restful.Container
	mu        sync.Mutex // held while own changes or a snapshot is taken
	own       map[string]*service
	snapshot  atomic.Pointer[map[string]*service]
}

// service is a service of the server or, with container, one of the container.
type service struct {
	container *restful.WebService
	open      func() (routes.Service, error) // made once
	mu        sync.Mutex                     // held while sets is extended
	sets      atomic.Pointer[map[string]*node]
}

// node is a path element below a service's root. Its children are literal elements, a parameter, or a parameter
// that matches the rest of the path.
type node struct {
	literal map[string]*node
	param   *node
	rest    *node
	routes  []*routes.Route // one for each method
}

func newRouter(c *restful.Container) *router {
	return &router{container: c, own: map[string]*service{}}
}

// add adds a service that open opens for its first request.
func (r *router) add(root string, open func() (routes.Service, error)) {
	s := &service{open: sync.OnceValues(func() (routes.Service, error) {
		opened, err := open()
		if err != nil {
			klog.ErrorS(err, "Failed to create an API group")
		}
		return opened, err
	})}
	s.sets.Store(&map[string]*node{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[root] = s
	r.snapshot.Store(nil)
}

// services returns the services by root path.
func (r *router) services() map[string]*service {
	if s := r.snapshot.Load(); s != nil {
		return *s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.own)
	for _, ws := range r.container.RegisteredWebServices() {
		all[strings.TrimSuffix(ws.RootPath(), "/")] = &service{container: ws}
	}
	r.snapshot.Store(&all)
	return all
}

// find returns the service with the longest root that is the path or an ancestor of it. Roots have at most three
// elements, like "/apis/GROUP/VERSION". The list of groups at "/apis" claims nothing below it, because another server
// of the chain may serve further groups.
func (r *router) find(path string) (found *service, root string) {
	services := r.services()
	for i, elements := 1, 0; i < len(path) && elements < 3; elements++ {
		end := strings.IndexByte(path[i:], '/')
		if end < 0 {
			end = len(path)
		} else {
			end += i
		}
		if s, ok := services[path[:end]]; ok && (path[:end] != "/apis" || len(path)-end <= 1) {
			found, root = s, path[:end]
		}
		i = end + 1
	}
	return found, root
}

// SelectRoute implements restful.RouteSelector for the services of the container, which calls it and holds its lock.
func (r *router) SelectRoute(_ []*restful.WebService, req *http.Request) (*restful.WebService, *restful.Route, error) {
	s, _ := r.find(req.URL.Path)
	if s == nil || s.container == nil {
		return nil, nil, restful.NewError(http.StatusNotFound, notFound)
	}
	return restful.CurlyRouter{}.SelectRoute([]*restful.WebService{s.container}, req)
}

// notFound is the library's message.
const notFound = "404: Page Not Found"

// serve serves a request at the root of the service or below it.
func (s *service) serve(w http.ResponseWriter, r *http.Request, root string) {
	opened, err := s.open()
	if err != nil {
		writeServiceError(w, r, restful.NewError(http.StatusInternalServerError, err.Error()))
		return
	}
	path := below(r.URL.Path, root)
	set, ok := opened.SetOf(path)
	if !ok {
		writeServiceError(w, r, restful.NewError(http.StatusNotFound, notFound))
		return
	}
	if route := s.set(opened, set).find(path, r.Method); route != nil && accepts(route, r) {
		route.Handler(w, r)
		return
	}
	s.serveUnusual(w, r, opened.Routes(set), root)
}

// serveUnusual serves a request for which the library finds a route in a set, and otherwise responds with the status
// that it determines for a wrong method or media type.
func (s *service) serveUnusual(w http.ResponseWriter, r *http.Request, set []routes.Route, root string) {
	ws := new(restful.WebService).Path(root)
	for _, route := range set {
		serve := func(req *restful.Request, resp *restful.Response) { route.Handler(resp.ResponseWriter, req.Request) }
		ws.Route(ws.Method(route.Method).Path(strings.TrimPrefix(route.Path, root)).To(serve).
			Produces(route.Produces...).Consumes(route.Consumes...))
	}
	_, route, err := restful.CurlyRouter{}.SelectRoute([]*restful.WebService{ws}, r)
	if err != nil {
		if e, ok := err.(restful.ServiceError); ok { //nolint:errorlint // the library does not wrap it
			writeServiceError(w, r, e)
		}
		return
	}
	route.Function(restful.NewRequest(r), restful.NewResponse(w))
}

// writeServiceError responds if no route of a service matches: unknown resources, methods that are not allowed, media
// types that are not supported.
func writeServiceError(w http.ResponseWriter, r *http.Request, e restful.ServiceError) {
	for name, values := range e.Header {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	responsewriters.WriteError(w, r,
		apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false))
}

// set returns the index of a set of routes.
func (s *service) set(of routes.Service, name string) *node {
	if n := (*s.sets.Load())[name]; n != nil {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *s.sets.Load()
	if n := known[name]; n != nil {
		return n
	}
	next := maps.Clone(known)
	next[name] = indexRoutes(of.Root(), of.Routes(name))
	s.sets.Store(&next)
	return next[name]
}

// route returns the route of a path, nil if there is none.
func (s *service) route(path, method, root string) *routes.Route {
	opened, err := s.open()
	if err != nil {
		return nil
	}
	path = below(path, root)
	if set, ok := opened.SetOf(path); ok {
		return s.set(opened, set).find(path, method)
	}
	return nil
}

// below returns the part of a path below the root of its service.
func below(path, root string) string {
	return strings.TrimPrefix(strings.TrimRight(path[len(root):], "/"), "/")
}

func indexRoutes(of string, set []routes.Route) *node {
	root := &node{}
	for i := range set {
		n := root
		for element := range strings.SplitSeq(strings.Trim(strings.TrimPrefix(set[i].Path, of), "/"), "/") {
			if element != "" {
				n = n.child(element)
			}
		}
		if n.route(set[i].Method) == nil {
			n.routes = append(n.routes, &set[i])
		}
	}
	return root
}

func (n *node) child(element string) *node {
	into := &n.param
	switch {
	case strings.HasSuffix(element, ":*}"):
		into = &n.rest
	case !strings.HasPrefix(element, "{"):
		if n.literal == nil {
			n.literal = map[string]*node{}
		}
		c := n.literal[element]
		if c == nil {
			c = &node{}
			n.literal[element] = c
		}
		return c
	}
	if *into == nil {
		*into = &node{}
	}
	return *into
}

// route returns the route of a method at the node.
func (n *node) route(method string) *routes.Route {
	for _, r := range n.routes {
		if r.Method == method {
			return r
		}
	}
	return nil
}

// find returns the route of the method at the path; nil if none matches. Literal elements take precedence over
// parameters.
func (n *node) find(path, method string) *routes.Route {
	if path == "" {
		return n.route(method)
	}
	element, rest, _ := strings.Cut(path, "/")
	if c := n.literal[element]; c != nil {
		if r := c.find(rest, method); r != nil {
			return r
		}
	}
	if n.param != nil {
		if r := n.param.find(rest, method); r != nil {
			return r
		}
	}
	if n.rest != nil {
		return n.rest.route(method)
	}
	return nil
}

// accepts reports whether the request's media types match the route in the simple cases.
func accepts(route *routes.Route, req *http.Request) bool {
	if len(route.Consumes) > 0 {
		ct, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
		if !mediaTypeIn(route.Consumes, strings.TrimSpace(ct)) && (ct != "" || req.Method != http.MethodGet) {
			return false
		}
	}
	accept := req.Header.Get("Accept")
	if accept == "" || len(route.Produces) == 0 {
		return accept == ""
	}
	for accept != "" {
		var clause string
		clause, accept, _ = strings.Cut(accept, ",")
		mediaType, _, _ := strings.Cut(clause, ";")
		mediaType = strings.Trim(mediaType, " ")
		if mediaType == "*/*" || mediaTypeIn(route.Produces, mediaType) {
			return true
		}
	}
	return false
}

func mediaTypeIn(types []string, mediaType string) bool {
	return slices.Contains(types, mediaType) || slices.Contains(types, "*/*")
}
