package routes

import (
	"net/http"

	"github.com/emicklei/go-restful/v3"
)

// Route serves a method of a path.
type Route struct {
	Method string
	// Path has parameters as go-restful's: "/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path:*}".
	Path string
	// Produces and Consumes are media types. "*/*" is for handlers that negotiate themselves.
	Produces, Consumes []string
	Handler            http.HandlerFunc
	// Describe adds what documents show. It may be slow.
	Describe func(*restful.Route)
}

// Documented returns the route with its description.
func (r *Route) Documented() restful.Route {
	d := restful.Route{Method: r.Method, Path: r.Path, Produces: r.Produces, Consumes: r.Consumes}
	r.Describe(&d)
	return d
}

// Service has the routes of a root path and of the paths below it. It is safe for concurrent use.
type Service interface {
	// Root is the path, without a slash at its end: "/apis/apps/v1".
	Root() string
	// SetOf returns the name of the set that has the route of a path, if there is one; false if there is none. below is
	// the path below the root, without slashes at its ends.
	SetOf(below string) (set string, ok bool)
	// Sets are the names of all sets, in the order of documents.
	Sets() []string
	// Routes makes the routes of a set. Each call makes new ones.
	Routes(set string) []Route
}

// All makes all routes of a service.
func All(s Service) (all []Route) {
	for _, set := range s.Sets() {
		all = append(all, s.Routes(set)...)
	}
	return all
}

// Document is a Service with one route, that of a document at the root.
type Document struct {
	Path     string // the root, without a slash at its end
	Produces []string
	Consumes []string // nil: any
	Handler  http.HandlerFunc
	// Doc and Operation are for OpenAPI, as is Sample, whose Go type is that of the document.
	Doc, Operation string
	Sample         any
}

// Root implements Service.
func (d *Document) Root() string { return d.Path }

// SetOf implements Service.
func (*Document) SetOf(below string) (string, bool) { return "", below == "" }

// Sets implements Service.
func (*Document) Sets() []string { return []string{""} }

// Routes implements Service.
func (d *Document) Routes(string) []Route {
	return []Route{{
		Method: http.MethodGet, Path: d.Path + "/", Produces: d.Produces, Consumes: d.Consumes, Handler: d.Handler,
		Describe: func(r *restful.Route) {
			r.Doc, r.Operation = d.Doc, d.Operation
			Returns(r, d.Sample, http.StatusOK)
		},
	}}
}

// Returns documents the Go type of the responses with some status codes.
func Returns(d *restful.Route, sample any, codes ...int) {
	d.WriteSample, d.ResponseErrors = sample, map[int]restful.ResponseError{}
	for _, code := range codes {
		d.ResponseErrors[code] = restful.ResponseError{Code: code, Message: http.StatusText(code), Model: sample}
	}
}
