package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/storage/wire"
)

const scaleModel = "io.k8s.api.autoscaling.v1.Scale"

// operation is a row of the table of what can be done at a path.
type operation struct {
	// verb begins the id; of and last stand before and behind the kind in it.
	method, verb, of, last, action, doc string
	// options is the struct whose fields the query takes; skip leaves out some.
	options any
	skip    []string
	body    string // model, "" for none
	patch   bool
	result  string // model
	codes   []int
}

// paths writes the paths of a resource.
func (d *document) paths(r *resource) {
	names := &r.crd.Status.AcceptedNames
	namespaced := r.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	root := "/apis/" + r.crd.Spec.Group + "/" + r.version.Name
	all := root + "/" + names.Plural
	base := all
	if namespaced {
		base = root + "/namespaces/{namespace}/" + names.Plural
	}
	model, list := d.modelName(r, names.Kind), d.modelName(r, names.ListKind)
	d.path(r, base, namespaced, false,
		operation{method: "get", verb: "list", action: "list", doc: "list objects of kind " + names.Kind,
			options: metav1.ListOptions{}, result: list},
		operation{method: "post", verb: "create", action: "post", doc: "create" + openapi.Article(names.Kind) + names.Kind,
			options: metav1.CreateOptions{}, body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}},
		operation{method: "delete", verb: "delete", of: "Collection", action: "deletecollection",
			doc: "delete collection of " + names.Kind, options: metav1.ListOptions{}, result: metaPackage + "Status"},
	)
	if namespaced {
		d.everywhere(r, all, list)
	}
	item := func(subresource, model string) {
		path := base + "/{name}"
		operations := r.item(subresource, model)
		if subresource != "" {
			path += "/" + subresource
		} else {
			operations = append(operations, operation{method: "delete", verb: "delete", action: "delete", doc: "delete" +
				openapi.Article(names.Kind) + names.Kind, options: metav1.DeleteOptions{},
				skip: []string{"preconditions"}, body: metaPackage + "DeleteOptions", result: metaPackage + "Status",
				codes: []int{http.StatusOK, http.StatusAccepted}})
		}
		d.path(r, path, namespaced, true, operations...)
	}
	item("", model)
	if sub := r.version.Subresources; sub != nil {
		if sub.Status != nil {
			item("status", model)
		}
		if sub.Scale != nil {
			item("scale", scaleModel)
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
		{method: "get", verb: "read", last: title, action: "get", doc: "read" + of, options: metav1.GetOptions{},
			result: model},
		{method: "put", verb: "replace", last: title, action: "put", doc: "replace" + of, options: metav1.UpdateOptions{},
			body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated}},
		{method: "patch", verb: "patch", last: title, action: "patch", doc: "partially update" + of,
			options: metav1.PatchOptions{}, body: metaPackage + "Patch", patch: true, result: model},
	}
}

func (d *document) path(r *resource, path string, namespaced, named bool, all ...operation) {
	operations := make([]openapi.Operation, len(all))
	for i := range all {
		operations[i] = d.operation(r, &all[i], namespaced)
	}
	var parameters []openapi.Parameter
	if named {
		parameters = append(parameters, inPath("name", "name of the "+r.crd.Status.AcceptedNames.Kind))
	}
	if namespaced {
		parameters = append(parameters, inPath("namespace", "object name and auth scope, such as for teams and projects"))
	}
	d.draft.Path(path, append(parameters, pretty), operations...)
}

// everywhere is the list across namespaces, whose options belong to the path.
func (d *document) everywhere(r *resource, path, list string) {
	op := operation{method: "get", verb: "list", last: "ForAllNamespaces", action: "list",
		doc: "list objects of kind " + r.crd.Status.AcceptedNames.Kind, result: list}
	d.draft.Path(path, append(d.query(metav1.ListOptions{}, nil), pretty), d.operation(r, &op, false))
}

// operation is what is done by one method.
func (d *document) operation(r *resource, op *operation, namespaced bool) openapi.Operation {
	names := &r.crd.Status.AcceptedNames
	group := strings.TrimSuffix(r.crd.Spec.Group, ".k8s.io")
	id := op.verb + identifier(group, true) + identifier(r.version.Name, true) + op.of
	if namespaced {
		id += "Namespaced"
	}
	parameters := d.query(op.options, op.skip)
	if op.body != "" {
		// Options of a deletion may be left out.
		parameters = append(parameters, openapi.Parameter{Name: "body", In: "body", Model: op.body,
			Required: op.action != "delete"})
	}
	return openapi.Operation{
		Method: op.method, ID: id + names.Kind + op.last, Tag: identifier(group, false) + "_" + r.version.Name, Doc: op.doc,
		Consumes: mediaTypes(op.patch), Produces: mediaTypes(false), Parameters: parameters, Responses: op.responses(),
		Extensions: []openapi.Member{
			{Name: "x-kubernetes-action", JSON: wire.AppendString(nil, op.action)},
			{Name: "x-kubernetes-group-version-kind", JSON: openapi.AppendKind(nil, r.gvk(names.Kind))},
		},
	}
}

// mediaTypes are those of objects, and those of patches.
func mediaTypes(patch bool) []string {
	if patch {
		return []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
	}
	return []string{"application/json", "application/yaml"}
}

func (op *operation) responses() []openapi.Response {
	if len(op.codes) == 0 {
		return []openapi.Response{{Code: http.StatusOK, Doc: http.StatusText(http.StatusOK), Model: op.result}}
	}
	out := make([]openapi.Response, len(op.codes))
	for i, code := range op.codes {
		out[i] = openapi.Response{Code: code, Doc: http.StatusText(code), Model: op.result}
	}
	return out
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

// query are the parameters that an options struct stands for. They are the same for all resources; what is
// appended to them is the caller's copy.
func (d *document) query(options any, skip []string) []openapi.Parameter {
	if options == nil {
		return nil
	}
	key := fmt.Sprintf("%T", options)
	known, ok := d.queries[key]
	if !ok {
		known = fields(options, skip)
		d.queries[key] = known
	}
	return slices.Clone(known)
}

// fields are the parameters of an options struct.
func fields(options any, skip []string) []openapi.Parameter {
	docs := map[string]string{}
	if d, ok := options.(interface{ SwaggerDoc() map[string]string }); ok {
		docs = d.SwaggerDoc()
	}
	t := reflect.TypeOf(options)
	var out []openapi.Parameter
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
		out = append(out, openapi.Parameter{Name: name, In: "query", Type: typ, Doc: docs[name]})
	}
	return out
}

func inPath(name, doc string) openapi.Parameter {
	return openapi.Parameter{Name: name, In: "path", Type: "string", Doc: doc, Required: true}
}

var pretty = openapi.Parameter{
	Name: "pretty", In: "query", Type: "string",
	Doc: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).",
}
