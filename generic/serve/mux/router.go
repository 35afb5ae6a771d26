package mux

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/emicklei/go-restful/v3"
)

// router selects the route of a request for the go-restful container. It finds the service by its root path and
// the route by the path's elements, so that the cost does not depend on the number of resources. If it finds no
// route, the library's own router decides, because it determines the status of a wrong method or media type.
//
// It finds services in a snapshot of the container, which is taken at the first request and after each invalidate.
type router struct {
	mu       sync.Mutex // held while a snapshot is taken
	snapshot atomic.Pointer[map[string]*service]
	deferred sync.Map // *restful.WebService: *deferredRoutes
}

// deferredRoutes are routes that have not been added to their service yet.
type deferredRoutes struct {
	routes func(described bool) []restful.Route
	add    sync.Once // adds them to the service
}

// deferRoutes registers routes that are added to a service only when the library's router needs them, because it
// compiles a regular expression for each path.
func (r *router) deferRoutes(ws *restful.WebService, routes func(described bool) []restful.Route) {
	r.deferred.Store(ws, &deferredRoutes{routes: routes})
}

func (r *router) deferredOf(ws *restful.WebService) *deferredRoutes {
	d, _ := r.deferred.Load(ws)
	of, _ := d.(*deferredRoutes)
	return of
}

// routesOf returns the routes of a service, with descriptions for documents (described) or without.
func (r *router) routesOf(ws *restful.WebService, described bool) []restful.Route {
	if d := r.deferredOf(ws); d != nil {
		return d.routes(described)
	}
	return ws.Routes()
}

// addAll adds all deferred routes.
func (r *router) addAll() {
	r.deferred.Range(func(ws, _ any) bool {
		r.complete(ws.(*restful.WebService))
		return true
	})
}

// complete adds the deferred routes of a service.
func (r *router) complete(ws *restful.WebService) {
	d := r.deferredOf(ws)
	if d == nil {
		return
	}
	d.add.Do(func() {
		for _, route := range d.routes(false) {
			path := strings.TrimPrefix(route.Path, ws.RootPath())
			ws.Route(ws.Method(route.Method).Path(path).To(route.Function).
				Produces(route.Produces...).Consumes(route.Consumes...))
		}
	})
}

// service is a WebService with an index of its routes by path, built on first use.
type service struct {
	ws    *restful.WebService
	index func() *node
}

// node is a path element below a service's root. Its children are literal elements, a parameter, or a parameter
// that matches the rest of the path.
type node struct {
	literal map[string]*node
	param   *node
	rest    *node
	routes  map[string]*restful.Route // by method
}

func newRouter() *router { return &router{} }

// invalidate drops the snapshot of the container.
func (r *router) invalidate() { r.snapshot.Store(nil) }

// claims reports whether the root of a service of the container is the path or an ancestor of it.
func (r *router) claims(c *restful.Container, path string) bool {
	_, root := findService(*r.services(c), path)
	return root != ""
}

// services returns the snapshot of the container.
func (r *router) services(c *restful.Container) *map[string]*service {
	if s := r.snapshot.Load(); s != nil {
		return s
	}
	return r.takeSnapshot(c)
}

// below returns the part of a path below the root of its service.
func below(path, root string) string {
	return strings.TrimPrefix(strings.TrimRight(path[len(root):], "/"), "/")
}

func (r *router) takeSnapshot(c *restful.Container) *map[string]*service {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.snapshot.Load(); s != nil {
		return s
	}
	services := map[string]*service{}
	for _, ws := range c.RegisteredWebServices() {
		services[strings.TrimSuffix(ws.RootPath(), "/")] = &service{ws: ws, index: sync.OnceValue(func() *node {
			return indexRoutes(ws.RootPath(), r.routesOf(ws, false))
		})}
	}
	r.snapshot.Store(&services)
	return &services
}

// findService returns the service with the longest root that is the path or an ancestor of it. Roots have at most
// three elements, like "/apis/GROUP/VERSION". The list of groups at "/apis" claims nothing below it, because
// another server of the chain may serve further groups.
func findService(services map[string]*service, path string) (*service, string) {
	var found *service
	var root string
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

// SelectRoute implements restful.RouteSelector. The container calls it and holds its lock.
func (r *router) SelectRoute(
	all []*restful.WebService, req *http.Request,
) (*restful.WebService, *restful.Route, error) {
	s := r.snapshot.Load()
	if s == nil {
		r.addAll()
		return restful.CurlyRouter{}.SelectRoute(all, req)
	}
	svc, root := findService(*s, req.URL.Path)
	if svc == nil {
		return nil, nil, restful.NewError(http.StatusNotFound, "404: Page Not Found")
	}
	if route := svc.index().find(below(req.URL.Path, root), req.Method); route != nil && accepts(route, req) {
		return svc.ws, route, nil
	}
	r.complete(svc.ws)
	return restful.CurlyRouter{}.SelectRoute([]*restful.WebService{svc.ws}, req)
}

// ExtractParameters returns no parameters: handlers use request.Info, which was parsed once.
func (r *router) ExtractParameters(*restful.Route, *restful.WebService, string) map[string]string {
	return nil
}

func indexRoutes(of string, routes []restful.Route) *node {
	root := &node{}
	for i := range routes {
		n := root
		below := strings.TrimPrefix(routes[i].Path, strings.TrimSuffix(of, "/"))
		for _, element := range strings.Split(strings.Trim(below, "/"), "/") {
			if element != "" {
				n = n.child(element)
			}
		}
		if n.routes == nil {
			n.routes = map[string]*restful.Route{}
		}
		if n.routes[routes[i].Method] == nil {
			n.routes[routes[i].Method] = &routes[i]
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

// find returns the route of the method at the path; nil if none matches. Literal elements take precedence over
// parameters.
func (n *node) find(path, method string) *restful.Route {
	if path == "" {
		return n.routes[method]
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
		return n.rest.routes[method]
	}
	return nil
}

// accepts reports whether the request's media types match the route in the simple cases.
func accepts(route *restful.Route, req *http.Request) bool {
	if len(route.If) > 0 {
		return false
	}
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
