package mux

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/routes"
)

// APIServerHandler serves the requests of a server.
type APIServerHandler struct {
	// FullHandlerChain is the filter chain with the Director. Before PrepareRun, and on all but the outermost
	// server, it is the Director.
	FullHandlerChain http.Handler
	// GoRestfulContainer has the services of programs that embed the server. The routes of API resources are not in it
	// (Add).
	GoRestfulContainer *restful.Container
	// NonGoRestfulMux has all other paths; its not-found handler is the delegate.
	NonGoRestfulMux *PathRecorderMux
	// Director dispatches a request to a service, otherwise to the mux.
	Director http.Handler

	router *router
}

// NewAPIServerHandler returns the handler of a server without paths. notFound serves what it has no path for.
func NewAPIServerHandler(name string, notFound http.Handler) *APIServerHandler {
	mux := NewPathRecorderMux(name)
	mux.NotFoundHandler(notFound)

	container := restful.NewContainer()
	router := newRouter(container)
	container.ServeMux = http.NewServeMux()
	container.Router(router)
	container.DoNotRecover(false)
	container.RecoverHandler(recovered)
	container.ServiceErrorHandler(serviceError)

	d := &director{name: name, router: router, mux: mux}
	return &APIServerHandler{
		FullHandlerChain:   d,
		GoRestfulContainer: container,
		NonGoRestfulMux:    mux,
		Director:           d,
		router:             router,
	}
}

// ListedPaths returns the root paths of the services and the listed paths of the mux.
func (h *APIServerHandler) ListedPaths() []string {
	return append(slices.Collect(maps.Keys(h.router.services())), h.NonGoRestfulMux.ListedPaths()...)
}

// ServeHTTP serves a request through the filters.
func (h *APIServerHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.FullHandlerChain.ServeHTTP(w, r)
}

type director struct {
	name   string
	router *router
	mux    *PathRecorderMux
}

func (d *director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request.MarkServer(r.Context(), d.name)
	s, root := d.router.find(r.URL.Path)
	switch {
	case s == nil:
		d.mux.ServeHTTP(w, r)
	case s.container != nil:
		d.router.container.Dispatch(w, r)
	default:
		defer func() {
			if reason := recover(); reason != nil {
				recovered(reason, w)
			}
		}()
		s.serve(w, r, root)
	}
}

// recovered responds for a handler that panicked inside a route.
func recovered(reason any, w http.ResponseWriter) {
	if reason == http.ErrAbortHandler { //nolint:errorlint // panics are compared by identity, as in net/http
		panic(reason)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v\n%s", reason, debug.Stack())
	klog.ErrorS(nil, "Handler panicked", "stack", b.String())
	// The request is not the client's fault, whatever it was.
	http.Error(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"This request caused apiserver to panic. Look in the logs for details.",`+
		`"reason":"InternalError","code":500}`,
		http.StatusInternalServerError)
}

// serviceError responds for the container if no route of a service matches.
func serviceError(e restful.ServiceError, req *restful.Request, resp *restful.Response) {
	writeServiceError(resp.ResponseWriter, req.Request, e)
}

// WebServices returns the services, for documents.
func (h *APIServerHandler) WebServices() (all []openapi.WebService) {
	services := h.router.services()
	for _, root := range slices.Sorted(maps.Keys(services)) {
		s := services[root]
		if ws := s.container; ws != nil {
			all = append(all, openapi.WebService{Path: ws.RootPath(), Parameters: ws.PathParameters(), Routes: ws.Routes})
			continue
		}
		all = append(all, openapi.WebService{Path: root, Routes: func() (documented []restful.Route) {
			opened, err := s.open()
			if err != nil {
				return nil // which was logged
			}
			for _, r := range routes.All(opened) {
				documented = append(documented, r.Documented())
			}
			return documented
		}})
	}
	return all
}

// Refresh makes the Director see services that were added to, or removed from,
// the container after it began to answer.
func (h *APIServerHandler) Refresh() { h.router.snapshot.Store(nil) }

// Add serves services.
func (h *APIServerHandler) Add(services ...routes.Service) {
	for _, s := range services {
		h.AddLater(s.Root(), func() (routes.Service, error) { return s, nil })
	}
}

// AddLater serves a service at a root path, which open opens for its first request.
func (h *APIServerHandler) AddLater(root string, open func() (routes.Service, error)) {
	h.router.add(root, open)
}
