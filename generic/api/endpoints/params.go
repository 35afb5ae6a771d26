package endpoints

import (
	"reflect"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// paramSet says which options a verb's query can have.
type paramSet uint8

const (
	noParams paramSet = iota
	listParams
	createParams
	updateParams
	patchParams
	deleteParams
	deleteCollectionParams
)

const prettyDoc = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget)."

// param documents a parameter.
func param(d *restful.Route, p *restful.Parameter) { d.ParameterDocs = append(d.ParameterDocs, p) }

// addParams documents a verb's query.
func addParams(d *restful.Route, set paramSet) {
	switch set {
	case listParams:
		addOptions(d, metav1.ListOptions{})
	case createParams:
		addOptions(d, metav1.CreateOptions{})
	case updateParams:
		addOptions(d, metav1.UpdateOptions{})
	case patchParams:
		addOptions(d, metav1.PatchOptions{})
	case deleteParams:
		addOptions(d, metav1.DeleteOptions{})
	case deleteCollectionParams:
		addOptions(d, metav1.DeleteOptions{})
		addOptions(d, metav1.ListOptions{}, "watch", "allowWatchBookmarks")
	}
}

// addOptions documents the fields of an options object as query parameters.
func addOptions(d *restful.Route, options any, except ...string) {
	var docs map[string]string
	if d, ok := options.(interface{ SwaggerDoc() map[string]string }); ok {
		docs = d.SwaggerDoc()
	}
	t := reflect.TypeOf(options)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		dataType := queryType(f.Type)
		if name == "" || name == "-" || dataType == "" || slices.Contains(except, name) {
			continue
		}
		param(d, restful.QueryParameter(name, docs[name]).DataType(dataType))
	}
}

// queryType is the type of a query parameter, "" for fields that a query cannot
// have.
func queryType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.String:
		return "string"
	case reflect.Slice: // repeated, or with commas between
		return queryType(t.Elem())
	}
	return "" // kube-apiserver's documents leave out times, too
}
