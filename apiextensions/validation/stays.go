package validation

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"triplane.dev/apiextensions/schema"
)

// stays is what a stored CRD has that new ones may not have: v1beta1 took it, or an
// earlier release did. An update may leave it there.
type stays struct {
	noSchema      bool // in some version
	notStructural bool
	otherTypes    bool // than those of OpenAPI
	looseSets     bool // of items that are no units
	looseKeys     bool // of lists that are maps
}

func staysOf(old *apiextensionsv1.CustomResourceDefinition) stays {
	var s stays
	for i := range old.Spec.Versions {
		v := &old.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			s.noSchema = true
			continue
		}
		s.notStructural = s.notStructural || !IsStructural(v.Schema.OpenAPIV3Schema)
		schema.Walk(v.Schema.OpenAPIV3Schema, func(p *apiextensionsv1.JSONSchemaProps) {
			s.otherTypes = s.otherTypes || !isType(p.Type)
			s.looseSets = s.looseSets || len(validateSetItems(nil, p)) > 0
			s.looseKeys = s.looseKeys || len(validateListMapKeys(nil, p)) > 0
		})
	}
	return s
}
