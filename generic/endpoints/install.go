package endpoints

import (
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/endpoints/handlers"
	"triplane/generic/endpoints/negotiation"
	"triplane/generic/registry/rest"
	"triplane/generic/request"
)

// Keys of a route's metadata, which OpenAPI shows.
const (
	metaAction = "x-kubernetes-action"
	metaKind   = "x-kubernetes-group-version-kind"
)

// Install registers the routes of the group version in the container, the
// discovery document at its root among them, and returns what discovery shows
// of its resources, sorted as kube-apiserver does.
func (g *APIGroupVersion) Install(container *restful.Container) ([]metav1.APIResource, error) {
	ws := new(restful.WebService)
	ws.Path(g.prefix()).Doc("API at " + g.prefix()).Consumes("*/*").ApiVersion(g.GroupVersion.String())
	ws.Produces(append(g.rules().MediaTypes(), g.rules().StreamMediaTypes()...)...)
	paths := make([]string, 0, len(g.Storage))
	for p := range g.Storage {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	resources := make([]metav1.APIResource, 0, len(paths))
	var lists []func() []route
	for _, p := range paths {
		r, err := g.Resource(p)
		if err != nil {
			return nil, err
		}
		lists = append(lists, r.install()...)
		if len(r.verbs) > 0 {
			resources = append(resources, r.discovered())
		}
	}
	container.Add(ws)
	routes := func() []route {
		var all []route
		for _, some := range lists {
			all = append(all, some()...)
		}
		return append(all, g.discovery(resources))
	}
	document := func() {
		for _, r := range routes() {
			r.document(ws)
		}
	}
	if g.Defer != nil {
		g.Defer(ws, func() []restful.Route { return undocumented(routes()) }, document)
	} else {
		document()
	}
	return resources, nil
}

// route is a route as requests take it, and what describes it in documents.
type route struct {
	restful.Route
	describe func(ws *restful.WebService, b *restful.RouteBuilder)
}

// document adds the route to its service, whose root begins the path.
func (r *route) document(ws *restful.WebService) {
	b := ws.Method(r.Method).Path(strings.TrimPrefix(r.Path, ws.RootPath())).To(r.Function).Produces(r.Produces...).Consumes(r.Consumes...)
	r.describe(ws, b)
	ws.Route(b)
}

func undocumented(routes []route) []restful.Route {
	all := make([]restful.Route, len(routes))
	for i := range routes {
		all[i] = routes[i].Route
	}
	return all
}

// anything is what routes consume whose handlers look at the media type themselves.
var anything = []string{"*/*"}

func (g *APIGroupVersion) prefix() string {
	if g.GroupVersion.Group == "" {
		return g.Root + "/" + g.GroupVersion.Version
	}
	return g.Root + "/" + g.GroupVersion.Group + "/" + g.GroupVersion.Version
}

// install enters the verbs that the storage has, and returns what makes their
// routes.
func (r *Resource) install() (routes []func() []route) {
	r.eachVerb(func(v *verb, h http.HandlerFunc) {
		r.verbs = append(r.verbs, v.discovery)
		for _, s := range v.shapes {
			if s != everywhere || r.scope.Namespaced {
				routes = append(routes, func() []route { return []route{r.route(v, s, h)} })
			}
		}
	})
	if c, ok := r.storage.(rest.Connecter); ok {
		routes = append(routes, r.connect(c))
	}
	return routes
}

// place is the path of a shape below the group version.
func (r *Resource) place(s shape) string {
	p := r.name
	if s == item {
		p += "/{name}"
		if r.subresource != "" {
			p += "/" + r.subresource
		}
	}
	if r.scope.Namespaced && s != everywhere {
		p = "namespaces/{namespace}/" + p
	}
	return p
}

func (r *Resource) route(v *verb, s shape, h http.HandlerFunc) route {
	path := r.place(s)
	if v.watchPath {
		path = "watch/" + path
	}
	consumes := anything
	if v.reads == patchBody {
		consumes = r.scope.PatchTypes()
	}
	return route{
		restful.Route{Method: v.method, Path: r.group.prefix() + "/" + path, Function: routed(h), Produces: r.produces(v), Consumes: consumes},
		func(ws *restful.WebService, b *restful.RouteBuilder) {
			b.Doc(v.doc(r)).Operation(r.operation(v, s))
			r.pathParams(ws, b, s)
			b.Param(ws.QueryParameter("pretty", prettyDoc))
			addParams(ws, b, v.params)
			if g, ok := r.storage.(rest.GetterWithOptions); ok && v.action == "get" {
				if opts := g.NewGetOptions(); opts != nil {
					addOptions(ws, b, opts)
				}
			}
			r.bodies(b, v)
			r.label(b, v.action)
		},
	}
}

// label says what the route does, and with which kind.
func (r *Resource) label(b *restful.RouteBuilder, action string) {
	k := r.scope.Kind
	b.Metadata(metaAction, action)
	b.Metadata(metaKind, metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
}

// routed makes a go-restful function of a handler.
func routed(h http.HandlerFunc) restful.RouteFunction {
	return func(req *restful.Request, resp *restful.Response) {
		request.MarkServed(req.Request.Context())
		h(resp.ResponseWriter, req.Request)
	}
}

func (r *Resource) pathParams(ws *restful.WebService, b *restful.RouteBuilder, s shape) {
	if r.scope.Namespaced && s != everywhere {
		b.Param(ws.PathParameter("namespace", "object name and auth scope, such as for teams and projects").DataType("string"))
	}
	if s == item {
		b.Param(ws.PathParameter("name", "name of the "+r.scope.Kind.Kind).DataType("string"))
	}
}

// rules are the media types of the group version.
func (g *APIGroupVersion) rules() negotiation.Rules {
	return negotiation.Rules{Protobuf: true, CBOR: g.CBOR}
}

// produces are the media types that a verb's answers can have.
func (r *Resource) produces(v *verb) []string {
	types := r.group.rules().MediaTypes()
	if v.writes == list || v.writes == watchEvent {
		types = append(types, r.group.rules().StreamMediaTypes()...)
	}
	if m, ok := r.storage.(rest.StorageMetadata); ok {
		types = append(slices.Clone(m.ProducesMIMETypes(v.method)), types...)
	}
	return types
}

// bodies documents what a verb reads and writes.
func (r *Resource) bodies(b *restful.RouteBuilder, v *verb) {
	switch v.reads {
	case object:
		b.Reads(r.sample())
	case patchBody:
		b.Reads(metav1.Patch{})
	case deleteBody:
		b.Reads(metav1.DeleteOptions{}).ParameterNamed("body").Required(false)
	}
	written := r.written(v)
	for _, code := range v.codes {
		b.Returns(code, http.StatusText(code), written)
	}
	b.Writes(written)
}

func (r *Resource) written(v *verb) any {
	if m, ok := r.storage.(rest.StorageMetadata); ok {
		if o := m.ProducesObject(v.method); o != nil {
			return o
		}
	}
	switch v.writes {
	case list:
		return r.listSample()
	case watchEvent:
		return metav1.WatchEvent{}
	case status:
		return metav1.Status{}
	case deleted:
		// A namespace lives on for a while when its deletion is answered, and
		// clients are promised a Status.
		full := r.group.GroupVersion.Group != "" || r.name != "namespaces"
		if m, ok := r.storage.(rest.MayReturnFullObject); ok && full && m.DeleteReturnsDeletedObject() {
			return r.sample()
		}
		return metav1.Status{}
	}
	return r.sample()
}

// sample is an empty object of the served version, whose Go type names its model.
func (r *Resource) sample() any {
	if r.group.Scheme != nil {
		if obj, err := r.group.Scheme.New(r.scope.Kind); err == nil {
			return obj
		}
	}
	return r.scope.Codec.New()
}

// listSample is an empty list of the served version.
func (r *Resource) listSample() any {
	if r.group.Scheme != nil {
		k := r.scope.Kind
		k.Kind += "List"
		if l, err := r.group.Scheme.New(k); err == nil {
			return l
		}
	}
	if l, ok := r.storage.(rest.Lister); ok {
		return l.NewList()
	}
	return runtime.Unknown{}
}

// connect returns what makes a route for each method of a connecter, with and
// without the rest of a path behind it.
func (r *Resource) connect(c rest.Connecter) func() []route {
	for _, method := range c.ConnectMethods() {
		if v := connectVerbs[method]; v != "" {
			r.verbs = append(r.verbs, v)
		}
	}
	return func() (routes []route) {
		h := handlers.Connect(r.scope, c)
		opts, subpath, _ := c.NewConnectOptions()
		for _, method := range c.ConnectMethods() {
			routes = append(routes, r.connectRoute(method, "", opts, h))
			if subpath {
				routes = append(routes, r.connectRoute(method, "WithPath", opts, h))
			}
		}
		return routes
	}
}

func (r *Resource) connectRoute(method, suffix string, opts runtime.Object, h http.HandlerFunc) route {
	v := &verb{action: "connect", prefix: "connect"}
	path := r.place(item)
	if suffix != "" {
		path += "/{path:*}"
	}
	name := fmt.Sprintf("%s%s%s", v.prefix, r.group.groupVersionName(), title(strings.ToLower(method)))
	if r.scope.Namespaced {
		name += "Namespaced"
	}
	name += r.kind + title(r.subresource) + suffix
	return route{
		restful.Route{Method: method, Path: r.group.prefix() + "/" + path, Function: routed(h), Produces: anything, Consumes: anything},
		func(ws *restful.WebService, b *restful.RouteBuilder) {
			b.Doc(docConnect(r, method)).Operation(name).
				Writes("string").Returns(http.StatusOK, http.StatusText(http.StatusOK), "string")
			r.pathParams(ws, b, item)
			if opts != nil {
				addOptions(ws, b, opts)
			}
			if suffix != "" {
				b.Param(ws.PathParameter("path", "path to the resource").DataType("string"))
			}
			r.label(b, "connect")
		},
	}
}
