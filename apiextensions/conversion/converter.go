package conversion

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Converter changes the version of objects of one CRD. It is safe for
// concurrent use.
type Converter interface {
	// Convert returns the objects in the version to, in their order. It leaves
	// its arguments alone, but the results may share parts of them.
	Convert(ctx context.Context, objs []*unstructured.Unstructured,
		to schema.GroupVersion) ([]*unstructured.Unstructured, error)
}

// None is the strategy that all versions have the same content: only apiVersion
// changes.
type None struct{}

// Convert implements Converter. The results share all but their top level with
// the arguments.
func (None) Convert(_ context.Context, objs []*unstructured.Unstructured,
	to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	apiVersion := to.String()
	out := make([]*unstructured.Unstructured, len(objs))
	for i, o := range objs {
		content := maps.Clone(o.Object)
		if content == nil {
			content = map[string]any{}
		}
		content["apiVersion"] = apiVersion
		out[i] = &unstructured.Unstructured{Object: content}
	}
	return out, nil
}
