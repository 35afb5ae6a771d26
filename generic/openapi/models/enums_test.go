package models

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestWithoutEnums(t *testing.T) {
	const service = "io.k8s.api.core.v1.ServiceSpec"
	for _, none := range []bool{false, true} {
		m, err := (&Source{NoEnums: none}).Models()
		if err != nil {
			t.Fatal(err)
		}
		all, err := m.Definitions(map[string]bool{service: true}, spec.MustCreateRef)
		if err != nil {
			t.Fatal(err)
		}
		kind := all[service].Schema.Properties["type"]
		if (len(kind.Enum) == 0) != none || strings.Contains(kind.Description, "Possible enum values") == none {
			t.Errorf("without enumerations: %t: %v, %q", none, kind.Enum, kind.Description)
		}
	}
}
