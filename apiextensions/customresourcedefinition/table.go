package customresourcedefinition

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/kind"
)

// crdColumns are those of the table of CustomResourceDefinitions.
func crdColumns() []kind.Column {
	created := kind.AgeColumn()
	created.Name, created.Type = "Created At", "date"
	return []kind.Column{
		kind.NameColumn(),
		{Name: "Scope", Type: "string", Description: "Cluster/Namespaced"},
		{Name: "Versions", Type: "string", Description: "Served versions"},
		created,
		{Name: "Group", Type: "string", Description: "API group", Priority: 1},
		{Name: "Kind", Type: "string", Description: "CustomResource kind", Priority: 1},
		{Name: "ShortNames", Type: "string", Description: "Short names", Priority: 1},
		{Name: "Established", Type: "boolean", Description: "Established status", Priority: 1},
	}
}

func crdCells(crd Object, _ func(metav1.Time) string) []any {
	return []any{
		crd.Name, string(crd.Spec.Scope), servedText(crd.Spec.Versions), crd.CreationTimestamp.UTC().Format(time.RFC3339),
		crd.Spec.Group, crd.Spec.Names.Kind, strings.Join(crd.Spec.Names.ShortNames, ","),
		validation.IsTrue(crd, apiextensionsv1.Established),
	}
}

// servedText lists the versions that are served, and says which one is stored.
func servedText(versions []apiextensionsv1.CustomResourceDefinitionVersion) string {
	var names []string
	for i := range versions {
		switch v := &versions[i]; {
		case v.Served && v.Storage:
			names = append(names, v.Name+"(storage)")
		case v.Served:
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ",")
}
