package customresource

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// plainNames reads a path that is no more than names after dots; nil if it is
// anything else.
func plainNames(path string) []string {
	if !strings.HasPrefix(path, ".") {
		return nil
	}
	names := strings.Split(path[1:], ".")
	for _, name := range names {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return nil
		}
	}
	return names
}

// definitions is rest.Resource.RowColumns.
func (c *tableConvertor) definitions() []metav1.TableColumnDefinition {
	out := make([]metav1.TableColumnDefinition, 0, len(c.columns.definitions))
	for _, d := range c.columns.definitions {
		out = append(out, metav1.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: d.Description, Priority: d.Priority,
		})
	}
	return out
}

// row is rest.Resource.Row. Rows are kept with the record, of which there are new
// ones when the CRD changes.
func (c *tableConvertor) row(item rest.Stored) (wire.Row, bool, error) {
	row, err := item.KeptRow(c.codec.Kind().GroupVersion(), func() ([]byte, error) { return c.encodeRow(item) })
	return row, err == nil, err
}

// encodeRow reads the cells out of the bytes that other answers have, and decodes the
// object only for paths that are more than names.
func (c *tableConvertor) encodeRow(item rest.Stored) (wire.Row, error) {
	encoded, err := item.Wire(c.codec.Kind().GroupVersion(), wire.JSON)
	if err != nil {
		return nil, err
	}
	var ages wire.Ages
	if cells, ok := c.columns.scan(encoded, &ages); ok {
		if metadata, ok := structural.Value(encoded, metadataName); ok && metadata != nil {
			return wire.EncodeRowOf(cells, nil, metadata, &ages)
		}
	}
	ages = wire.Ages{}
	obj, err := item.Decode()
	if err != nil {
		return nil, err
	}
	if obj, err = c.codec.FromHub(obj); err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is no custom resource", obj)
	}
	return wire.EncodeRow(c.columns.cells(u, since(&ages)), nil, meta.AsPartialObjectMetadata(u).ObjectMeta, &ages)
}

var (
	metadataName = []string{"metadata"}
	nameOfObject = []string{"metadata", "name"}
)

// scan reads the cells out of an object's JSON, where all paths allow that.
func (c *columns) scan(object []byte, ages *wire.Ages) ([]any, bool) {
	cells := make([]any, 0, len(c.definitions))
	raw, _ := structural.Value(object, nameOfObject)
	name, _ := scalar(raw)
	if _, isText := name.(string); !isText {
		return nil, false
	}
	cells = append(cells, name)
	for i, names := range c.names {
		if names == nil {
			return nil, false
		}
		raw, ok := structural.Value(object, names)
		if !ok {
			return nil, false
		}
		if len(raw) == 0 {
			cells = append(cells, nil)
			continue
		}
		var v any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &v); err != nil {
			return nil, false
		}
		cells = append(cells, shown(c.paths[i], v, c.definitions[i+1].Type, since(ages)))
	}
	return cells, true
}

// since shows ages that are worked out when the row is written.
func since(ages *wire.Ages) func(any) any {
	return func(v any) any { return ageOf(v, func(t metav1.Time) string { return ages.Since(t) }) }
}
