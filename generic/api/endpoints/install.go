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

	"triplane.dev/generic/api/handlers"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
)

// Keys of a route's metadata, which OpenAPI shows.
const (
	metaAction = "x-kubernetes-action"
	metaKind   = "x-kubernetes-group-version-kind"
)

// Install registers the routes of the group version in the container and returns its resources as in discovery.
func (g *APIGroupVersion) Install(container *restful.Container) ([]metav1.APIResource, error) {
	ws, resources, err := g.Service()
	if err == nil {
		container.Add(ws)
	}
	return resources, err
}

// Service returns the routes of the group version, the discovery document at its root among them, and what discovery
// shows of its resources, sorted as kube-apiserver does.
func (g *APIGroupVersion) Service() (*restful.WebService, []metav1.APIResource, error) {
	ws := new(restful.WebService)
	ws.Path(g.prefix()).Doc("API at " + g.prefix()).Consumes("*/*").ApiVersion(g.GroupVersion.String())
	ws.Produces(append(g.rules().MediaTypes(), g.rules().StreamMediaTypes()...)...)
	paths := make([]string, 0, len(g.Resources))
	for p := range g.Resources {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	resources := make([]metav1.APIResource, 0, len(paths))
	var lists []func() []route
	for _, p := range paths {
		r, err := g.Resource(p)
		if err != nil {
			return nil, nil, err
		}
		lists = append(lists, r.install()...)
		if len(r.verbs) > 0 {
			resources = append(resources, r.discovered())
		}
	}
	g.Routes(ws, func(described bool) []restful.Route {
		var all []restful.Route
		for _, some := range append(lists, func() []route { return []route{g.discovery(resources)} }) {
			for _, r := range some() {
				if described {
					r.describe(&r.Route)
				}
				all = append(all, r.Route)
			}
		}
		return slices.Clone(all) // without spare capacity: it is kept
	})
	return ws, resources, nil
}

// route is a route as requests take it, and what describes it for documents.
type route struct {
	restful.Route
	describe func(*restful.Route)
}

// anything is what routes consume whose handlers look at the media type themselves.
var anything = []string{"*/*"}

func (g *APIGroupVersion) prefix() string {
	if g.GroupVersion.Group == "" {
		return g.Root + "/" + g.GroupVersion.Version
	}
	return g.Root + "/" + g.GroupVersion.Group + "/" + g.GroupVersion.Version
}

// install enters the verbs that the resource has, and returns what makes their
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
	if r.storage.Connect != nil {
		routes = append(routes, r.connect())
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
		restful.Route{Method: v.method, Path: r.group.prefix() + "/" + path, Function: routed(h), Produces: r.produces(v),
			Consumes: consumes},
		func(d *restful.Route) {
			d.Doc, d.Operation = v.doc(r), r.operation(v, s)
			r.pathParams(d, s)
			param(d, restful.QueryParameter("pretty", prettyDoc))
			addParams(d, v.params)
			if r.storage.NewOptions != nil && v.action == "get" {
				addOptions(d, r.storage.NewOptions())
			}
			r.bodies(d, v)
			r.label(d, v.action)
		},
	}
}

// label says what the route does, and with which kind.
func (r *Resource) label(d *restful.Route, action string) {
	k := r.scope.Kind
	d.Metadata = map[string]any{metaAction: action, metaKind: metav1.GroupVersionKind{Group: k.Group, Version: k.Version,
		Kind: k.Kind}}
}

// routed makes a go-restful function of a handler.
func routed(h http.HandlerFunc) restful.RouteFunction {
	return func(req *restful.Request, resp *restful.Response) {
		request.MarkServed(req.Request.Context())
		h(resp.ResponseWriter, req.Request)
	}
}

func (r *Resource) pathParams(d *restful.Route, s shape) {
	if r.scope.Namespaced && s != everywhere {
		param(d, restful.PathParameter("namespace", "object name and auth scope, such as for teams and projects"))
	}
	if s == item {
		param(d, restful.PathParameter("name", "name of the "+r.scope.Kind.Kind))
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
	return slices.Concat(r.storage.MediaTypes, types)
}

// bodies documents what a verb reads and writes.
func (r *Resource) bodies(d *restful.Route, v *verb) {
	switch v.reads {
	case object:
		d.ReadSample = r.sample()
	case patchBody:
		d.ReadSample = metav1.Patch{}
	case deleteBody:
		d.ReadSample = metav1.DeleteOptions{}
	}
	if d.ReadSample != nil {
		param(d, restful.BodyParameter("body", "").Required(v.reads != deleteBody))
	}
	writes(d, r.written(v), v.codes...)
}

// writes documents the object of answers.
func writes(d *restful.Route, sample any, codes ...int) {
	d.WriteSample, d.ResponseErrors = sample, map[int]restful.ResponseError{}
	for _, code := range codes {
		d.ResponseErrors[code] = restful.ResponseError{Code: code, Message: http.StatusText(code), Model: sample}
	}
}

func (r *Resource) written(v *verb) any {
	if r.storage.Sample != nil {
		return r.storage.Sample
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
		if full && r.storage.ReturnsDeleted {
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
	if r.storage.NewList != nil {
		return r.storage.NewList()
	}
	return runtime.Unknown{}
}

// connect returns what makes a route for each method of Connect, with and
// without the rest of a path behind it.
func (r *Resource) connect() func() []route {
	for _, method := range r.storage.ConnectMethods {
		if v := connectVerbs[method]; v != "" {
			r.verbs = append(r.verbs, v)
		}
	}
	return func() (routes []route) {
		h := handlers.Connect(r.scope)
		for _, method := range r.storage.ConnectMethods {
			routes = append(routes, r.connectRoute(method, "", h))
			if r.storage.ConnectPath != "" {
				routes = append(routes, r.connectRoute(method, "WithPath", h))
			}
		}
		return routes
	}
}

func (r *Resource) connectRoute(method, suffix string, h http.HandlerFunc) route {
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
		restful.Route{Method: method, Path: r.group.prefix() + "/" + path, Function: routed(h), Produces: anything,
			Consumes: anything},
		func(d *restful.Route) {
			d.Doc, d.Operation = docConnect(r, method), name
			writes(d, "string", http.StatusOK)
			r.pathParams(d, item)
			if r.storage.NewOptions != nil {
				addOptions(d, r.storage.NewOptions())
			}
			if suffix != "" {
				param(d, restful.PathParameter("path", "path to the resource"))
			}
			r.label(d, "connect")
		},
	}
}
