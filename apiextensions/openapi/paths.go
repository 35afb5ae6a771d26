package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/openapi"
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

// paths returns the paths of a resource.
func (d *document) paths(r *resource) []openapi.Member {
	names := &r.crd.Status.AcceptedNames
	namespaced := r.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	root := "/apis/" + r.crd.Spec.Group + "/" + r.version.Name
	all := root + "/" + names.Plural
	base := all
	if namespaced {
		base = root + "/namespaces/{namespace}/" + names.Plural
	}
	model, list := r.modelName(names.Kind), r.modelName(names.ListKind)
	out := []openapi.Member{d.path(r, base, namespaced, false,
		operation{method: "get", verb: "list", action: "list", doc: "list objects of kind " + names.Kind, options: metav1.ListOptions{}, result: list},
		operation{method: "post", verb: "create", action: "post", doc: "create" + openapi.Article(names.Kind) + names.Kind, options: metav1.CreateOptions{}, body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}},
		operation{method: "delete", verb: "delete", of: "Collection", action: "deletecollection", doc: "delete collection of " + names.Kind, options: metav1.ListOptions{}, result: metaPackage + "Status"},
	)}
	if namespaced {
		out = append(out, d.everywhere(r, all, list))
	}
	item := func(subresource, model string) {
		path := base + "/{name}"
		operations := r.item(subresource, model)
		if subresource != "" {
			path += "/" + subresource
		} else {
			operations = append(operations, operation{method: "delete", verb: "delete", action: "delete", doc: "delete" + openapi.Article(names.Kind) + names.Kind, options: metav1.DeleteOptions{},
				skip: []string{"preconditions"}, body: metaPackage + "DeleteOptions", result: metaPackage + "Status", codes: []int{http.StatusOK, http.StatusAccepted}})
		}
		out = append(out, d.path(r, path, namespaced, true, operations...))
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
	return out
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
		{method: "get", verb: "read", last: title, action: "get", doc: "read" + of, options: metav1.GetOptions{}, result: model},
		{method: "put", verb: "replace", last: title, action: "put", doc: "replace" + of, options: metav1.UpdateOptions{}, body: model, result: model,
			codes: []int{http.StatusOK, http.StatusCreated}},
		{method: "patch", verb: "patch", last: title, action: "patch", doc: "partially update" + of, options: metav1.PatchOptions{}, body: metaPackage + "Patch", patch: true, result: model},
	}
}

func (d *document) path(r *resource, path string, namespaced, named bool, operations ...operation) openapi.Member {
	o := begin(nil)
	for i := range operations {
		o.key([]byte(operations[i].method))
		o.dst = d.operation(o.dst, r, &operations[i], namespaced)
	}
	var parameters []*spec3.Parameter
	if named {
		parameters = append(parameters, inPath("name", "name of the "+r.crd.Status.AcceptedNames.Kind))
	}
	if namespaced {
		parameters = append(parameters, inPath("namespace", "object name and auth scope, such as for teams and projects"))
	}
	o.member("parameters", d.list(d.parameters(nil, append(parameters, pretty())...)))
	return openapi.Member{Name: path, JSON: o.end()}
}

// everywhere is the list across namespaces, whose options belong to the path.
func (d *document) everywhere(r *resource, path, list string) openapi.Member {
	o := begin(nil)
	o.key([]byte("get"))
	o.dst = d.operation(o.dst, r, &operation{method: "get", verb: "list", last: "ForAllNamespaces", action: "list",
		doc: "list objects of kind " + r.crd.Status.AcceptedNames.Kind, result: list}, false)
	o.member("parameters", d.list(d.query(metav1.ListOptions{}, nil, pretty())))
	return openapi.Member{Name: path, JSON: o.end()}
}

// operation appends what is done by one method.
func (d *document) operation(dst []byte, r *resource, op *operation, namespaced bool) []byte {
	names := &r.crd.Status.AcceptedNames
	group := strings.TrimSuffix(r.crd.Spec.Group, ".k8s.io")
	id := op.verb + identifier(group, true) + identifier(r.version.Name, true) + op.of
	if namespaced {
		id += "Namespaced"
	}
	o := begin(dst)
	o.texts("tags", []string{identifier(group, false) + "_" + r.version.Name})
	o.text("description", op.doc)
	o.text("operationId", id+names.Kind+op.last)
	if d.v2 {
		d.inputV2(&o, op)
	} else {
		d.inputV3(&o, op)
	}
	d.responses(&o, op)
	o.text("x-kubernetes-action", op.action)
	o.member("x-kubernetes-group-version-kind", r.gvk(names.Kind))
	return o.end()
}

// mediaTypes are those of objects, and those of patches.
func mediaTypes(patch bool) []string {
	if patch {
		return []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
	}
	return []string{"application/json", "application/yaml"}
}

// inputV2 appends what an operation takes, where a body is a parameter.
func (d *document) inputV2(o *object, op *operation) {
	o.texts("schemes", []string{"https"})
	o.texts("produces", mediaTypes(false))
	o.texts("consumes", mediaTypes(op.patch))
	var parameters []byte
	if op.body != "" {
		parameters = encode(parameters, d.shared(spec.Parameter{ParamProps: spec.ParamProps{
			Name: "body", In: "body", Required: op.needsBody(), Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef(d.refs + op.body)}},
		}}))
	}
	d.inputs(o, parameters, op)
}

func (d *document) inputV3(o *object, op *operation) {
	d.inputs(o, nil, op)
	if op.body == "" {
		return
	}
	o.key([]byte("requestBody"))
	body := begin(o.dst)
	d.content(&body, op.body, mediaTypes(op.patch))
	if op.needsBody() {
		body.member("required", []byte("true"))
	}
	o.dst = body.end()
}

// inputs appends the parameters of an operation: those given, and the query's.
func (d *document) inputs(o *object, parameters []byte, op *operation) {
	if query := d.query(op.options, op.skip); len(query) > 0 {
		if len(parameters) > 0 {
			parameters = append(parameters, ',')
		}
		parameters = append(parameters, query...)
	}
	if len(parameters) > 0 {
		o.member("parameters", d.list(parameters))
	}
}

// needsBody reports whether the body must be there: options of a deletion may be left out.
func (op *operation) needsBody() bool { return op.action != "delete" }

func (d *document) responses(o *object, op *operation) {
	codes := op.codes
	if len(codes) == 0 {
		codes = []int{http.StatusOK}
	}
	o.key([]byte("responses"))
	all := begin(o.dst)
	for _, code := range codes {
		all.key(strconv.AppendInt(nil, int64(code), 10))
		one := begin(all.dst)
		one.text("description", http.StatusText(code))
		if d.v2 {
			one.key([]byte("schema"))
			one.dst = d.plainRef(one.dst, op.result)
		} else {
			d.content(&one, op.result, mediaTypes(false))
		}
		all.dst = one.end()
	}
	all.member("401", []byte(`{"description":"Unauthorized"}`))
	o.dst = all.end()
}

// content appends a model in media types.
func (d *document) content(o *object, model string, types []string) {
	o.key([]byte("content"))
	all := begin(o.dst)
	for _, t := range types {
		all.key([]byte(t))
		one := begin(all.dst)
		one.key([]byte("schema"))
		one.dst = d.plainRef(one.dst, model)
		all.dst = one.end()
	}
	o.dst = all.end()
}

// list puts what stands between the brackets of a list into them.
func (d *document) list(inner []byte) []byte {
	return append(append(append(make([]byte, 0, len(inner)+2), '['), inner...), ']')
}

// parameters appends parameters, separated.
func (d *document) parameters(dst []byte, all ...*spec3.Parameter) []byte {
	for _, p := range all {
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		if d.v2 {
			dst = encode(dst, d.shared(parameterV2(p)))
		} else {
			dst = encode(dst, p)
		}
	}
	return dst
}

// encode appends what is made of texts, and can be encoded.
func encode(dst []byte, v json.Marshaler) []byte {
	b, _ := v.MarshalJSON()
	return append(dst, b...)
}

func parameterV2(p *spec3.Parameter) spec.Parameter {
	return spec.Parameter{
		CommonValidations: spec.CommonValidations{UniqueItems: p.Schema.UniqueItems},
		SimpleSchema:      spec.SimpleSchema{Type: p.Schema.Type[0]},
		ParamProps:        spec.ParamProps{Name: p.Name, In: p.In, Description: p.Description, Required: p.Required},
	}
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

// query are the parameters that an options struct stands for, and others, sorted and separated.
// They are the same for all resources.
func (d *document) query(options any, skip []string, more ...*spec3.Parameter) []byte {
	if options == nil {
		return nil
	}
	key := fmt.Sprintf("%T%d", options, len(more))
	known, ok := d.queries[key]
	if !ok {
		all := append(fields(options, skip), more...)
		slices.SortFunc(all, func(a, b *spec3.Parameter) int { return strings.Compare(a.Name, b.Name) })
		known = d.parameters(nil, all...)
		d.queries[key] = known
	}
	return known
}

// fields are the parameters of an options struct.
func fields(options any, skip []string) []*spec3.Parameter {
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
	return out
}

func parameter(name, in, typ, description string) *spec3.Parameter {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{typ}, UniqueItems: true}}
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
