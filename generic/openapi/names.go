package openapi

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// extensionGVK names the kinds that a model is the schema of.
const extensionGVK = "x-kubernetes-group-version-kind"

func gvkExtension(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}
