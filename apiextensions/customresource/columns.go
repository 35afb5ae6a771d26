package customresource

import (
	"bytes"
	"context"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
)

// columns are the printer columns of a version.
type columns struct {
	definitions []kind.Column
	paths       []*jsonpath.JSONPath
	// names are the paths that are no more than names after dots, nil for
	// others.
	names [][]string
}

// newColumns takes the printer columns that a version declares, or the age for
// none. The name comes first always. A path that cannot be read, which validation
// lets pass, ends the columns.
func newColumns(spec *apiextensionsv1.CustomResourceDefinitionVersion) *columns {
	declared := spec.AdditionalPrinterColumns
	if len(declared) == 0 {
		declared = []apiextensionsv1.CustomResourceColumnDefinition{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		}}
	}
	c := &columns{definitions: []kind.Column{{
		Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"],
	}}}
	for _, d := range declared {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + d.JSONPath + "}"); err != nil {
			klog.V(2).InfoS("A printer column of a custom resource cannot be shown, nor those after it", "column", d.Name,
				"jsonPath", d.JSONPath, "err", err)
			return c
		}
		description := d.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		c.definitions = append(c.definitions, kind.Column{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: description, Priority: d.Priority,
		})
		c.paths = append(c.paths, path)
		c.names = append(c.names, plainNames(d.JSONPath))
	}
	return c
}

// cells are an object's cells behind its name.
func (c *columns) cells(u *unstructured.Unstructured, age func(any) any) []any {
	cells := make([]any, 0, len(c.definitions))
	cells = append(cells, u.GetName())
	for i, path := range c.paths {
		cells = append(cells, cell(path, u, c.definitions[i+1].Type, age))
	}
	return cells
}

func cell(path *jsonpath.JSONPath, u *unstructured.Unstructured, typ string, age func(any) any) any {
	results, err := path.FindResults(u.UnstructuredContent())
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	return shown(path, results[0][0].Interface(), typ, age)
}

// shown is what a cell of the type shows of the first value that its path has found.
func shown(path *jsonpath.JSONPath, v any, typ string, age func(any) any) any {
	switch typ {
	case "integer":
		switch n := v.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch n := v.(type) {
		case float64:
			return n
		case int64:
			return float64(n)
		}
	case "boolean":
		if b, ok := v.(bool); ok {
			return b
		}
	case "string":
		if s, ok := v.(string); ok {
			return s
		}
		var b bytes.Buffer
		if err := path.PrintResults(&b, []reflect.Value{reflect.ValueOf(v)}); err == nil {
			return b.String()
		}
	case "date":
		return age(v)
	}
	return nil
}

// age is how long ago a time was, as people read it.
func age(v any) any { return ageOf(v, table.ConvertToHumanReadableDateType) }

func ageOf(v any, since func(metav1.Time) string) any {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	var t metav1.Time
	if err := t.UnmarshalQueryParameter(s); err != nil {
		return "<invalid>"
	}
	return since(t)
}

// tableConvertor shows the objects of one version as a table.
type tableConvertor struct {
	codec   rest.Codec
	columns *columns
}

// convert is rest.Resource.ConvertToTable.
func (c *tableConvertor) convert(_ context.Context, obj runtime.Object,
	opts *metav1.TableOptions) (*metav1.Table, error) {
	t := &metav1.Table{Rows: []metav1.TableRow{}}
	if opts == nil || !opts.NoHeaders {
		t.ColumnDefinitions = c.definitions()
	}
	if meta.IsListType(obj) {
		if m, err := meta.ListAccessor(obj); err == nil {
			t.ResourceVersion, t.Continue, t.RemainingItemCount = m.GetResourceVersion(), m.GetContinue(),
				m.GetRemainingItemCount()
		}
		return t, meta.EachListItem(obj, func(item runtime.Object) error { return c.add(t, item) })
	}
	if m, ok := obj.(metav1.Object); ok {
		t.ResourceVersion = m.GetResourceVersion()
	}
	return t, c.add(t, obj)
}

func (c *tableConvertor) add(t *metav1.Table, obj runtime.Object) error {
	shown, err := c.codec.FromHub(obj)
	if err != nil {
		return err
	}
	u, ok := shown.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%T is no custom resource", shown)
	}
	t.Rows = append(t.Rows, metav1.TableRow{Cells: c.columns.cells(u, age), Object: runtime.RawExtension{Object: obj}})
	return nil
}
