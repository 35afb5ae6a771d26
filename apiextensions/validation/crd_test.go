package validation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func widget(t *testing.T, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := json.Unmarshal([]byte(`{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"None"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object"}}}}}]},
		"status":{"storedVersions":["v1"]}}`), crd)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(crd)
	}
	return crd
}

func root(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func TestValidate(t *testing.T) {
	type CRD = *apiextensionsv1.CustomResourceDefinition
	for name, c := range map[string]struct {
		change func(CRD)
		want   []string
	}{
		"good":         {func(CRD) {}, nil},
		"name":         {func(c CRD) { c.Name = "w.example.com" }, []string{`metadata.name: Invalid value: "w.example.com": must be spec.names.plural+"."+spec.group`}},
		"no dot":       {func(c CRD) { c.Spec.Group, c.Name = "example", "widgets.example" }, []string{`spec.group: Invalid value: "example": should be a domain with at least one dot`}},
		"scope":        {func(c CRD) { c.Spec.Scope = "Here" }, []string{`spec.scope: Unsupported value: "Here": supported values: "Cluster", "Namespaced"`}},
		"no schema":    {func(c CRD) { c.Spec.Versions[0].Schema = nil }, []string{"spec.versions[0].schema.openAPIV3Schema: Required value"}},
		"same kinds":   {func(c CRD) { c.Spec.Names.ListKind = "Widget" }, []string{`spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same`}},
		"unique items": {func(c CRD) { root(c).UniqueItems = true }, []string{"spec.validation.openAPIV3Schema.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"}},
		"protected group": {func(c CRD) { c.Spec.Group, c.Name = "a.k8s.io", "widgets.a.k8s.io" }, []string{
			`metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111`}},
		"column": {func(c CRD) {
			c.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "A", Type: "text", JSONPath: "spec"}}
		}, []string{`spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string`,
			`spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .`}},
		"selectable": {func(c CRD) {
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".spec"}}
		},
			[]string{`spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.`}},
		"conversion": {func(c CRD) { c.Spec.Conversion.Strategy = "Webhook" }, []string{
			"spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook", "spec.conversion.conversionReviewVersions: Required value"}},
		"default": {func(c CRD) {
			root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte("5")}}
		}, []string{`spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range (&Validator{}).Validate(t.Context(), widget(t, c.change)) {
				got = append(got, e.Error())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	old := widget(t)
	old.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	changed := old.DeepCopy()
	changed.Spec.Scope, changed.Spec.Names.Kind = "Cluster", "Other"
	var fields []string
	for _, e := range (&Validator{}).ValidateUpdate(t.Context(), changed, old) {
		fields = append(fields, e.Field)
	}
	if !slices.Equal(fields, []string{"spec.scope", "spec.names.kind"}) {
		t.Errorf("got %v", fields)
	}
}

func TestParseFieldPath(t *testing.T) {
	for path, want := range map[string][]string{
		".spec.a": {"spec", "a"}, ".spec['a-b'].c": {"spec", "a-b", "c"}, ".a[0]": nil, "a": nil, ".a['b": nil,
	} {
		got, err := ParseFieldPath(path)
		if !slices.Equal(got, want) && want != nil || (err != nil) != (want == nil) {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}
