package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var v1 = appsv1.SchemeGroupVersion

func gvk(name string) schema.GroupVersionKind { return v1.WithKind(name) }

// templatePath is where the kinds of this group have their template.
func templatePath() *field.Path { return field.NewPath("spec", "template") }
