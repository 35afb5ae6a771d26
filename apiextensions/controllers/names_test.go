package controllers

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func named(plural, singular, kind, list string, short ...string) definition {
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: singular, Kind: kind, ListKind: list, ShortNames: short},
	}}
}

func TestSetNames(t *testing.T) {
	first := named("things", "thing", "Thing", "ThingList", "th")
	setNames(first, claims(nil))
	if c := Condition(first, apiextensionsv1.Established); c == nil || c.Status != apiextensionsv1.ConditionTrue {
		t.Fatalf("the first is not established: %v", first.Status)
	}
	for name, c := range map[string]struct {
		crd     definition
		reason  string
		message string
	}{
		"free":       {named("others", "other", "Other", "OtherList", "ot"), "NoConflicts", "no conflicts found"},
		"plural":     {named("things", "x", "X", "XList"), "PluralConflict", `"things" is already in use`},
		"kind":       {named("xs", "x", "Thing", "XList"), "KindConflict", `"Thing" is already in use`},
		"short name": {named("xs", "x", "X", "XList", "ok", "th"), "ShortNamesConflict", `"th" is already in use`},
		"swapped":    {named("xs", "x", "ThingList", "Thing"), "ListKindConflict", `"Thing" is already in use`},
	} {
		t.Run(name, func(t *testing.T) {
			setNames(c.crd, claims([]definition{first, c.crd}))
			got := Condition(c.crd, apiextensionsv1.NamesAccepted)
			if got.Reason != c.reason || got.Message != c.message {
				t.Errorf("got %s %q", got.Reason, got.Message)
			}
			established := Condition(c.crd, apiextensionsv1.Established).Status == apiextensionsv1.ConditionTrue
			if established != (c.reason == "NoConflicts") {
				t.Errorf("established: %v", established)
			}
		})
	}
	// Who is established stays so, whatever it asks for later.
	other := named("others", "other", "Other", "OtherList")
	setNames(other, claims([]definition{first}))
	other.Spec.Names.ShortNames = []string{"th"}
	setNames(other, claims([]definition{first, other}))
	if Condition(other, apiextensionsv1.Established).Status != apiextensionsv1.ConditionTrue || len(other.Status.AcceptedNames.ShortNames) != 0 {
		t.Errorf("got %v", other.Status)
	}
}

// TestSetStructural has schemas of old definitions, whose violations are listed as one.
func TestSetStructural(t *testing.T) {
	const preserve = "spec.preserveUnknownFields: Invalid value: true: must be false"
	for schema, want := range map[string]string{
		`{"type":"object"}`: "True Violations " + preserve,
		`{"type":"object","properties":{"a":{},"b":{"type":"array"}}}`: "True Violations [" + preserve +
			", spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields" +
			", spec.versions[0].schema.openAPIV3Schema.properties[b].items: Required value: must be specified]",
		`{"patternProperties":{"a":{}}}`: "Unknown StructuralError failed to check validation schema for version v1: OpenAPIV3Schema 'patternProperties' is not supported",
		`{"x-kubernetes-preserve-unknown-fields":false}`: "Unknown StructuralError failed to check validation schema for version v1: " +
			"internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
	} {
		props := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal([]byte(schema), props); err != nil {
			t.Fatal(err)
		}
		crd := named("things", "thing", "Thing", "ThingList")
		crd.Spec.PreserveUnknownFields = true
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}}}
		setStructural(crd)
		c := Condition(crd, apiextensionsv1.NonStructuralSchema)
		if c == nil || string(c.Status)+" "+c.Reason+" "+c.Message != want {
			t.Errorf("%s: got %v", schema, c)
		}
		crd.Spec.PreserveUnknownFields = false
		if setStructural(crd); Condition(crd, apiextensionsv1.NonStructuralSchema) != nil {
			t.Errorf("%s: the condition stays", schema)
		}
	}
}

// TestInvalidCABundle has a CRD wait for certificates, and keep what it has got.
func TestInvalidCABundle(t *testing.T) {
	crd := named("things", "thing", "Thing", "ThingList")
	client := &apiextensionsv1.WebhookClientConfig{CABundle: []byte("hi")}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: client}}
	setNames(crd, claims(nil))
	if c := Condition(crd, apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionFalse || c.Reason != invalidCABundle {
		t.Errorf("without certificates: %v", c)
	}
	client.CABundle = nil
	setNames(crd, claims(nil))
	if c := Condition(crd, apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionTrue {
		t.Errorf("with those of the system: %v", c)
	}
	client.CABundle = []byte("hi")
	setNames(crd, claims(nil))
	if c := Condition(crd, apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionTrue {
		t.Errorf("established before: %v", c)
	}
}
