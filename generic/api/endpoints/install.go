package endpoints

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeutil "k8s.io/apimachinery/pkg/util/runtime"

	"triplane.dev/generic/api/handlers"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/routes"
)

// Keys of a route's metadata, which OpenAPI shows.
const (
	metaAction = "x-kubernetes-action"
	metaKind   = "x-kubernetes-group-version-kind"
)

// Service returns the routes of the group version, the discovery document at its root among them.
func (g *APIGroupVersion) Service() routes.Service {
	s := &service{group: g, sets: map[string][]string{}}
	for p := range g.Resources {
		name, _, _ := strings.Cut(p, "/")
		s.sets[name] = append(s.sets[name], p)
	}
	for _, paths := range s.sets {
		slices.Sort(paths)
	}
	return s
}

// service is the Service of a group version. A set has the routes of a resource and its subresources; that of the name
// "" is the discovery document.
type service struct {
	group *APIGroupVersion
	sets  map[string][]string // keys of Resources
}

// Root implements routes.Service.
func (s *service) Root() string { return s.group.prefix() }

// SetOf implements routes.Service.
func (s *service) SetOf(below string) (string, bool) {
	if below == "" {
		return "", true
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(below, "watch/"), "/")
	if name == "namespaces" {
		_, rest, _ = strings.Cut(rest, "/")
		if namespaced, _, _ := strings.Cut(rest, "/"); s.sets[namespaced] != nil {
			return namespaced, true
		}
	}
	return name, s.sets[name] != nil
}

// Sets implements routes.Service.
func (s *service) Sets() []string { return append(slices.Sorted(maps.Keys(s.sets)), "") }

// Routes implements routes.Service.
func (s *service) Routes(set string) (all []routes.Route) {
	if set == "" {
		return []routes.Route{s.group.discovery()}
	}
	for _, p := range s.sets[set] {
		r, err := s.group.Resource(p)
		runtimeutil.Must(err) // Discovered has found none
		all = append(all, r.routes()...)
	}
	return all
}

// Discovered returns what discovery shows of the resources, sorted as kube-apiserver does. It fails for a resource that
// cannot be served.
func (g *APIGroupVersion) Discovered() ([]metav1.APIResource, error) {
	resources := make([]metav1.APIResource, 0, len(g.Resources))
	for _, p := range slices.Sorted(maps.Keys(g.Resources)) {
		r, err := g.Resource(p)
		if err != nil {
			return nil, err
		}
		if shown := r.discovered(); len(shown.Verbs) > 0 {
			resources = append(resources, shown)
		}
	}
	return resources, nil
}

// anything is what routes consume whose handlers look at the media type themselves.
var anything = []string{"*/*"}

func (g *APIGroupVersion) prefix() string {
	if g.GroupVersion.Group == "" {
		return g.Root + "/" + g.GroupVersion.Version
	}
	return g.Root + "/" + g.GroupVersion.Group + "/" + g.GroupVersion.Version
}

// routes makes the routes of the resource.
func (r *Resource) routes() (all []routes.Route) {
	r.eachVerb(func(v *verb) {
		h := served(v.handler(r.scope()))
		for _, s := range v.shapes {
			if s != everywhere || r.namespaced() {
				all = append(all, r.route(v, s, h))
			}
		}
	})
	if r.storage.Connect == nil {
		return all
	}
	h := served(handlers.Connect(r.scope()))
	for _, method := range r.storage.ConnectMethods {
		all = append(all, r.connectRoute(method, "", h))
		if r.storage.ConnectPath != "" {
			all = append(all, r.connectRoute(method, "WithPath", h))
		}
	}
	return all
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
	if r.namespaced() && s != everywhere {
		p = "namespaces/{namespace}/" + p
	}
	return p
}

func (r *Resource) route(v *verb, s shape, h http.HandlerFunc) routes.Route {
	path := r.place(s)
	if v.watchPath {
		path = "watch/" + path
	}
	consumes := anything
	if v.reads == patchBody {
		consumes = r.scope().PatchTypes()
	}
	return routes.Route{
		Method: v.method, Path: r.group.prefix() + "/" + path, Handler: h, Produces: r.produces(v),
		Consumes: consumes,
		Describe: func(d *restful.Route) {
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
	k := r.served
	d.Metadata = map[string]any{metaAction: action, metaKind: metav1.GroupVersionKind{Group: k.Group, Version: k.Version,
		Kind: k.Kind}}
}

// served marks a request as one of a resource.
func served(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request.MarkServed(r.Context())
		h(w, r)
	}
}

func (r *Resource) pathParams(d *restful.Route, s shape) {
	if r.namespaced() && s != everywhere {
		param(d, restful.PathParameter("namespace", "object name and auth scope, such as for teams and projects"))
	}
	if s == item {
		param(d, restful.PathParameter("name", "name of the "+r.served.Kind))
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
	routes.Returns(d, r.written(v), v.codes...)
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
		if returns := r.storage.ReturnsDeleted; full && returns != nil && returns(r.served.Version) {
			return r.sample()
		}
		return metav1.Status{}
	}
	return r.sample()
}

// sample is an empty object of the served version, whose Go type names its model.
func (r *Resource) sample() any {
	if r.group.Scheme != nil {
		if obj, err := r.group.Scheme.New(r.served); err == nil {
			return obj
		}
	}
	return r.scope().Codec.New()
}

// listSample is an empty list of the served version.
func (r *Resource) listSample() any {
	if r.group.Scheme != nil {
		k := r.served
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

func (r *Resource) connectRoute(method, suffix string, h http.HandlerFunc) routes.Route {
	v := &verb{action: "connect", prefix: "connect"}
	path := r.place(item)
	if suffix != "" {
		path += "/{path:*}"
	}
	name := fmt.Sprintf("%s%s%s", v.prefix, r.group.groupVersionName(), title(strings.ToLower(method)))
	if r.namespaced() {
		name += "Namespaced"
	}
	name += r.kind + title(r.subresource) + suffix
	return routes.Route{
		Method: method, Path: r.group.prefix() + "/" + path, Handler: h, Produces: anything, Consumes: anything,
		Describe: func(d *restful.Route) {
			d.Doc, d.Operation = docConnect(r, method), name
			routes.Returns(d, "string", http.StatusOK)
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
