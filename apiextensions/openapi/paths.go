package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"
)

const scaleModel = "io.k8s.api.autoscaling.v1.Scale"

// operation is a row of the table of what can be done at a path.
type operation struct {
	method, id, action, doc string
	// options is the struct whose fields the query takes; skip leaves out some.
	options any
	skip    []string
	body    string // model, "" for none
	patch   bool
	result  string // model
	codes   []int
}

// paths adds the paths of the resource to a document.
func (r *resource) paths(into map[string]*spec3.Path) {
	names := &r.crd.Status.AcceptedNames
	namespaced := r.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	root := "/apis/" + r.crd.Spec.Group + "/" + r.version.Name
	all := root + "/" + names.Plural
	base := all
	if namespaced {
		base = root + "/namespaces/{namespace}/" + names.Plural
	}
	model, list := r.modelName(names.Kind), r.modelName(names.ListKind)
	r.path(into, base, namespaced, false,
		operation{method: http.MethodGet, id: "list", action: "list", doc: "list objects of kind " + names.Kind, options: metav1.ListOptions{}, result: list},
		operation{method: http.MethodPost, id: "create", action: "post", doc: "create" + article(names.Kind) + names.Kind, options: metav1.CreateOptions{}, body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}},
		operation{method: http.MethodDelete, id: "deleteCollection", action: "deletecollection", doc: "delete collection of " + names.Kind, options: metav1.ListOptions{}, result: metaPackage + "Status"},
	)
	if namespaced {
		r.everywhere(into, all, list)
	}
	r.path(into, base+"/{name}", namespaced, true, append(r.item("", model),
		operation{method: http.MethodDelete, id: "delete", action: "delete", doc: "delete" + article(names.Kind) + names.Kind, options: metav1.DeleteOptions{},
			skip: []string{"preconditions"}, body: metaPackage + "DeleteOptions", result: metaPackage + "Status", codes: []int{http.StatusOK, http.StatusAccepted}})...)
	if sub := r.version.Subresources; sub != nil {
		if sub.Status != nil {
			r.path(into, base+"/{name}/status", namespaced, true, r.item("status", model)...)
		}
		if sub.Scale != nil {
			r.path(into, base+"/{name}/scale", namespaced, true, r.item("scale", scaleModel)...)
		}
	}
}

// item are the operations on one object, or on a subresource of it.
func (r *resource) item(subresource, model string) []operation {
	of := ""
	if subresource != "" {
		of = " " + subresource + " of"
	}
	of += " the specified " + r.crd.Status.AcceptedNames.Kind
	title := strings.ToUpper(subresource[:min(1, len(subresource))]) + subresource[min(1, len(subresource)):]
	return []operation{
		{method: http.MethodGet, id: "read" + title, action: "get", doc: "read" + of, options: metav1.GetOptions{}, result: model},
		{method: http.MethodPut, id: "replace" + title, action: "put", doc: "replace" + of, options: metav1.UpdateOptions{}, body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated}},
		{method: http.MethodPatch, id: "patch" + title, action: "patch", doc: "partially update" + of, options: metav1.PatchOptions{}, body: metaPackage + "Patch", patch: true, result: model},
	}
}

func article(noun string) string {
	if strings.ContainsAny(strings.ToLower(noun[:min(1, len(noun))]), "aeiou") {
		return " an "
	}
	return " a "
}

func (r *resource) path(into map[string]*spec3.Path, path string, namespaced, named bool, operations ...operation) {
	p := &spec3.Path{}
	if named {
		p.Parameters = append(p.Parameters, inPath("name", "name of the "+r.crd.Status.AcceptedNames.Kind))
	}
	if namespaced {
		p.Parameters = append(p.Parameters, inPath("namespace", "object name and auth scope, such as for teams and projects"))
	}
	p.Parameters = append(p.Parameters, pretty())
	for _, o := range operations {
		op := r.operation(o, namespaced)
		switch o.method {
		case http.MethodGet:
			p.Get = op
		case http.MethodPost:
			p.Post = op
		case http.MethodPut:
			p.Put = op
		case http.MethodPatch:
			p.Patch = op
		case http.MethodDelete:
			p.Delete = op
		}
	}
	into[path] = p
}

// everywhere is the list across namespaces, whose options belong to the path.
func (r *resource) everywhere(into map[string]*spec3.Path, path, list string) {
	op := r.operation(operation{method: http.MethodGet, id: "list", action: "list",
		doc: "list objects of kind " + r.crd.Status.AcceptedNames.Kind, result: list}, true)
	op.OperationId += "ForAllNamespaces"
	params := append(query(metav1.ListOptions{}, nil), pretty())
	slices.SortFunc(params, func(a, b *spec3.Parameter) int { return strings.Compare(a.Name, b.Name) })
	into[path] = &spec3.Path{PathProps: spec3.PathProps{Get: op, Parameters: params}}
}

func (r *resource) operation(o operation, namespaced bool) *spec3.Operation {
	group := strings.TrimSuffix(r.crd.Spec.Group, ".k8s.io")
	id := o.id + identifier(group, true) + identifier(r.version.Name, true)
	if namespaced {
		id += "Namespaced"
	}
	id += r.crd.Status.AcceptedNames.Kind
	op := &spec3.Operation{OperationProps: spec3.OperationProps{
		Tags:        []string{identifier(group, false) + "_" + r.version.Name},
		Description: o.doc,
		OperationId: id,
		Parameters:  query(o.options, o.skip),
		Responses:   r.responses(o),
	}}
	if o.body != "" {
		op.RequestBody = r.body(o)
	}
	gvk := r.gvk(r.crd.Status.AcceptedNames.Kind)
	op.AddExtension("x-kubernetes-action", o.action)
	op.AddExtension("x-kubernetes-group-version-kind", map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind})
	return op
}

// identifier makes "certManagerIo" of "cert-manager.io"; capital has its first letter
// in upper case, too.
func identifier(name string, capital bool) string {
	var out strings.Builder
	for i, c := range name {
		switch {
		case !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c)):
			capital = true
			continue
		case capital:
			c = unicode.ToUpper(c)
		}
		out.WriteRune(c)
		capital = false
	}
	return out.String()
}

var mediaTypes = []string{"application/json", "application/yaml"}

func (r *resource) content(model string, types []string) map[string]*spec3.MediaType {
	out := make(map[string]*spec3.MediaType, len(types))
	for _, t := range types {
		out[t] = &spec3.MediaType{MediaTypeProps: spec3.MediaTypeProps{Schema: r.plainRef(model)}}
	}
	return out
}

func (r *resource) body(o operation) *spec3.RequestBody {
	types := mediaTypes
	if o.patch {
		types = []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
	}
	return &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{
		Content: r.content(o.body, types), Required: o.action != "delete",
	}}
}

func (r *resource) responses(o operation) *spec3.Responses {
	codes := o.codes
	if len(codes) == 0 {
		codes = []int{http.StatusOK}
	}
	out := map[int]*spec3.Response{http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: "Unauthorized"}}}
	for _, code := range codes {
		out[code] = &spec3.Response{ResponseProps: spec3.ResponseProps{
			Description: http.StatusText(code), Content: r.content(o.result, mediaTypes),
		}}
	}
	return &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: out}}
}

// query are the parameters that an options struct stands for, sorted.
func query(options any, skip []string) []*spec3.Parameter {
	if options == nil {
		return nil
	}
	docs := map[string]string{}
	if d, ok := options.(interface{ SwaggerDoc() map[string]string }); ok {
		docs = d.SwaggerDoc()
	}
	t := reflect.TypeOf(options)
	var out []*spec3.Parameter
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || slices.Contains(skip, name) {
			continue
		}
		typ := "string"
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch kind.Kind() {
		case reflect.Bool:
			typ = "boolean"
		case reflect.Int64:
			typ = "integer"
		}
		out = append(out, parameter(name, "query", typ, docs[name]))
	}
	slices.SortFunc(out, func(a, b *spec3.Parameter) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func parameter(name, in, typ, description string) *spec3.Parameter {
	s := ofType(typ)
	s.UniqueItems = true
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{Name: name, In: in, Description: description, Schema: s}}
}

func inPath(name, description string) *spec3.Parameter {
	p := parameter(name, "path", "string", description)
	p.Required = true
	return p
}

func pretty() *spec3.Parameter {
	return parameter("pretty", "query", "string", "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).")
}
