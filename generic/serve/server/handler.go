package server

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/emicklei/go-restful/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane/generic/api/handlers"
	"triplane/generic/base/request"
)

// APIServerHandler is what a server answers with.
type APIServerHandler struct {
	// FullHandlerChain is the Director behind all filters. It is set by
	// PrepareRun on the outermost server and is the Director before.
	FullHandlerChain http.Handler
	// GoRestfulContainer holds the routes of API resources. Its router finds the
	// WebService by the path, so that routes cost nothing to those who do not ask
	// for them.
	GoRestfulContainer *restful.Container
	// NonGoRestfulMux holds all other paths; its not-found handler is the
	// delegate.
	NonGoRestfulMux *PathRecorderMux
	// Director offers a request to the container, else to the mux.
	Director http.Handler

	router *router
}

func newAPIServerHandler(name string, notFound http.Handler) *APIServerHandler {
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

// ListedPaths returns the roots of the container's services and the listed
// paths of the mux.
func (h *APIServerHandler) ListedPaths() []string {
	var paths []string
	for _, ws := range h.GoRestfulContainer.RegisteredWebServices() {
		paths = append(paths, ws.RootPath())
	}
	return append(paths, h.NonGoRestfulMux.ListedPaths()...)
}

// ServeHTTP answers through the filters.
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

// recovered answers for a handler that panicked inside a route.
func recovered(reason any, w http.ResponseWriter) {
	if reason == http.ErrAbortHandler { //nolint:errorlint // what was panicked with, by identity as net/http compares it
		panic(reason)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v\n%s", reason, debug.Stack())
	klog.ErrorS(nil, "A handler panicked", "stack", b.String())
	// Whatever was asked for, the client did nothing that explains this.
	http.Error(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"This request caused apiserver to panic. Look in the logs for details.","reason":"InternalError","code":500}`,
		http.StatusInternalServerError)
}

// serviceError answers where no route of a service fits: unknown resources,
// methods that are not allowed, media types that are not served.
func serviceError(e restful.ServiceError, req *restful.Request, resp *restful.Response) {
	for name, values := range e.Header {
		for _, v := range values {
			resp.Header().Add(name, v)
		}
	}
	handlers.WriteError(resp.ResponseWriter, req.Request,
		apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "", e.Message, 0, false))
}
