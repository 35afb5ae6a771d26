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
		text, _ := m.AppendModel(nil, service, Form{})
		var all spec.Schema
		if err := all.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		kind := all.Properties["type"]
		if (len(kind.Enum) == 0) != none || strings.Contains(kind.Description, "Possible enum values") == none {
			t.Errorf("without enumerations: %t: %v, %q", none, kind.Enum, kind.Description)
		}
	}
}
