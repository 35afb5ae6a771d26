package mux

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/base/request"
)

// APIServerHandler serves the requests of a server.
type APIServerHandler struct {
	// FullHandlerChain is the filter chain with the Director. Before PrepareRun, and on all but the outermost
	// server, it is the Director.
	FullHandlerChain http.Handler
	// GoRestfulContainer has the routes of API resources. Its router finds the WebService by path, so that the
	// number of routes does not slow down other requests.
	GoRestfulContainer *restful.Container
	// NonGoRestfulMux has all other paths; its not-found handler is the delegate.
	NonGoRestfulMux *PathRecorderMux
	// Director dispatches a request to the container, otherwise to the mux.
	Director http.Handler

	router *router
}

// NewAPIServerHandler returns the handler of a server without paths. notFound serves what it has no path for.
func NewAPIServerHandler(name string, notFound http.Handler) *APIServerHandler {
	mux := NewPathRecorderMux(name)
	mux.NotFoundHandler(notFound)

	router := newRouter()
	container := restful.NewContainer()
	container.ServeMux = http.NewServeMux()
	container.Router(router)
	container.DoNotRecover(false)
	container.RecoverHandler(recovered)
	container.ServiceErrorHandler(serviceError)

	d := &director{name: name, container: container, router: router, mux: mux}
	return &APIServerHandler{
		FullHandlerChain:   d,
		GoRestfulContainer: container,
		NonGoRestfulMux:    mux,
		Director:           d,
		router:             router,
	}
}

// ListedPaths returns the root paths of the container's services and the listed paths of the mux.
func (h *APIServerHandler) ListedPaths() []string {
	return append(h.router.paths(h.GoRestfulContainer), h.NonGoRestfulMux.ListedPaths()...)
}

// ServeHTTP serves a request through the filters.
func (h *APIServerHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.FullHandlerChain.ServeHTTP(w, r)
}

type director struct {
	name      string
	container *restful.Container
	router    *router
	mux       *PathRecorderMux
}

func (d *director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request.MarkServer(r.Context(), d.name)
	if d.router.claims(d.container, r.URL.Path) {
		d.container.Dispatch(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
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

// serviceError responds if no route of a service matches: unknown resources, methods that are not allowed, media
// types that are not supported.
func serviceError(e restful.ServiceError, req *restful.Request, resp *restful.Response) {
	for name, values := range e.Header {
		for _, v := range values {
			resp.Header().Add(name, v)
		}
	}
	responsewriters.WriteError(resp.ResponseWriter, req.Request,
		apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false))
}

// WebServices returns the services of the container, for documents.
func (h *APIServerHandler) WebServices() (all []openapi.WebService) {
	for _, ws := range h.GoRestfulContainer.RegisteredWebServices() {
		all = append(all, openapi.WebService{
			Path: ws.RootPath(), Parameters: ws.PathParameters(),
			Routes: func() []restful.Route { return h.router.routesOf(ws, true) },
		})
	}
	return all
}

// Refresh makes the Director see services that were added to, or removed from,
// the container after it began to answer.
func (h *APIServerHandler) Refresh() { h.router.invalidate() }

// AddLater adds a service that create creates for its first request. It must be called before requests are served.
func (h *APIServerHandler) AddLater(path string, create func() (*restful.WebService, error)) {
	h.router.addLater(path, create)
}

// DeferRoutes has the routes of a service created when they are needed: its documents, or a request that a route
// does not match.
func (h *APIServerHandler) DeferRoutes(ws *restful.WebService, routes func(described bool) []restful.Route) {
	h.router.deferRoutes(ws, routes)
}
