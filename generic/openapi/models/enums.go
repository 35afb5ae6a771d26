package models

import (
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// possibleValues is what generators put behind the description of a field with an
// enumeration, before its values.
const possibleValues = "\n\nPossible enum values:\n"

// dropEnums removes the enumerations of a schema and all within it, and what descriptions
// say of them.
func dropEnums(s *spec.Schema) {
	s.Enum = nil
	s.Description, _, _ = strings.Cut(s.Description, possibleValues)
	for name, p := range s.Properties {
		dropEnums(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		dropEnums(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		dropEnums(s.AdditionalProperties.Schema)
	}
	for i := range s.AllOf {
		dropEnums(&s.AllOf[i])
	}
}
