package customresourcedefinition

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// crdColumns are those of the table of CustomResourceDefinitions.
func crdColumns() []kind.Column {
	created := show.Age()
	created.Name, created.Type = "Created At", "date"
	return []kind.Column{show.Name(), show.Text("Scope", "Cluster/Namespaced"), show.Text("Versions", "Served versions"),
		created, show.Wide(show.Text("Group", "API group")), show.Wide(show.Text("Kind", "CustomResource kind")),
		show.Wide(show.Text("ShortNames", "Short names")),
		{Name: "Established", Type: "boolean", Description: "Established status", Priority: 1}}
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
