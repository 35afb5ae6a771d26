package apps

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// templatePath is where the kinds of this group have their template.
func templatePath() *field.Path { return field.NewPath("spec", "template") }
