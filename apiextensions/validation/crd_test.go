package validation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
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
		"selectable by a name in brackets, or by none": {func(c CRD) {
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{
				{JSONPath: "['spec']"}, {JSONPath: "."}, {JSONPath: ".."}}
		}, []string{`spec.selectableFields[0].jsonPath: Invalid value: "['spec']": is an invalid path: array notation is not allowed`,
			`spec.selectableFields[1].jsonPath: Invalid value: ".": is an invalid path: unexpected end of JSON path`,
			`spec.selectableFields[2].jsonPath: Invalid value: "..": is an invalid path: does not refer to a valid field`}},
		"selectable without a schema": {func(c CRD) {
			c.Spec.Versions[0].Schema = nil
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: "x"}}
		}, []string{`spec.versions[0].schema.openAPIV3Schema: Required value`,
			`spec.selectableFields: Invalid value: "": may only be set when validations.schema is included`}},
		"selectable in a version without a schema": {func(c CRD) {
			other := *c.Spec.Versions[0].DeepCopy()
			other.Name, other.Storage, other.Schema = "v0", false, nil
			other.SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: "x"}}
			c.Spec.Versions = append(c.Spec.Versions, other)
		}, []string{`spec.versions[1].schema.openAPIV3Schema: Required value`,
			"spec.versions[1].selectableFields: Invalid value: \"\": may only be set when " +
				"`version.schema.openAPIV3Schema` is not included"}},
		"selectable in the metadata": {func(c CRD) {
			root(c).Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string"}}}
			root(c).Properties["kind"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{
				{JSONPath: ".metadata.name"}, {JSONPath: ".metadata.labels"}, {JSONPath: ".apiVersion"}, {JSONPath: ".kind"}}
		}, []string{
			`spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata`,
			`spec.selectableFields[1].jsonPath: Invalid value: ".metadata.labels": is an invalid path: does not refer to a valid field`,
			`spec.selectableFields[2].jsonPath: Invalid value: ".apiVersion": is an invalid path: does not refer to a valid field`}},
		"selectable in one of the versions with one schema": {func(c CRD) {
			root(c).Properties["soil"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			other := *c.Spec.Versions[0].DeepCopy()
			other.Name, other.Storage = "v0", false
			c.Spec.Versions = append(c.Spec.Versions, other)
			c.Spec.Versions[0].SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".soil"}}
		}, nil},
		"a message of no rule": {func(c CRD) {
			root(c).XValidations = apiextensionsv1.ValidationRules{{Rule: " ", Message: "a\nb"}}
		}, []string{"spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule: Required value: rule is not specified"}},
		"the storage version twice": {func(c CRD) {
			c.Spec.Versions = append(c.Spec.Versions, c.Spec.Versions[0])
			c.Spec.Versions[0].Storage = false
		}, []string{`spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must contain unique version names`, "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v1"}},
		"conversion": {func(c CRD) { c.Spec.Conversion.Strategy = "Webhook" }, []string{
			"spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook", "spec.conversion.conversionReviewVersions: Required value"}},
		"default": {func(c CRD) {
			root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte("5")}}
		}, []string{`spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"`}},
		"types that are none": {func(c CRD) {
			root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "null"}
		}, []string{`spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"`,
			"spec.validation.openAPIV3Schema.properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative"}},
		"default of an embedded resource": {func(c CRD) {
			embedded := apiextensionsv1.JSONSchemaProps{Type: "object", XEmbeddedResource: true, Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"metadata": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"labels": {Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`{"a b":"c"}`)}, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}}}}}}
			root(c).Properties["a"] = embedded
		}, []string{`spec.validation.openAPIV3Schema.properties[a].properties[metadata].properties[labels].default: Invalid value: {"a b":"c"}: must result in valid metadata: ` +
			`metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		"default without a kind": {func(c CRD) {
			root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: new(true),
				Default: &apiextensionsv1.JSON{Raw: []byte(`{"apiVersion":"v1"}`)}}
		}, []string{`spec.validation.openAPIV3Schema.properties[a].default.kind: Required value`}},
		"rule": {func(c CRD) {
			root(c).XValidations = apiextensionsv1.ValidationRules{{Rule: "true", Message: "a\nb", FieldPath: ".x"}}
		}, []string{`spec.validation.openAPIV3Schema.x-kubernetes-validations[0].message: Invalid value: "a\nb": must not contain line breaks`,
			`spec.validation.openAPIV3Schema.x-kubernetes-validations[0].fieldPath: Invalid value: ".x": must be a valid path`}},
		"a list's keys and items": {func(c CRD) {
			listType := "map"
			root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "array", XListType: &listType,
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}
		}, []string{"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
			`spec.validation.openAPIV3Schema.properties[a].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range (&Validator{}).Validate(t.Context(), widget(t, c.change), nil) {
				got = append(got, e.Error())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

// What is wrong with a schema, in kube-apiserver's order, and what is not.
func TestValidateSchema(t *testing.T) {
	for name, c := range map[string]struct {
		schema           string
		status, preserve bool
		want             []string
	}{
		"metadata of another type": {schema: `{"type":"object","properties":{"metadata":{"type":"string"}}}`, want: []string{
			`.properties[metadata].type: Invalid value: "string": must be object`}},
		"metadata of another type, and more": {schema: `{"type":"object","properties":{"metadata":{"type":"string","pattern":"a"}}}`, want: []string{
			`.properties[metadata].type: Invalid value: "string": must be object`,
			`.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`}},
		"empty lists in metadata say nothing": {schema: `{"type":"object","properties":{"metadata":{"type":"object","oneOf":[],"enum":[]}}}`},
		"a resource within metadata": {schema: `{"type":"object","properties":{"metadata":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`, want: []string{
			`.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
			`.properties[metadata].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta`}},
		"a switch that is no skeleton's": {schema: `{"properties":{"kind":{"type":"integer","x-kubernetes-preserve-unknown-fields":false}}}`, want: []string{
			`.properties[kind].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`}},
		"two types in anyOf":           {schema: `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"integer"},{"type":"string"}]}}}`},
		"two types in the first allOf": {schema: `{"type":"object","properties":{"a":{"type":"string","allOf":[{"minimum":1,"anyOf":[{"type":"integer"},{"type":"string"}]},{"minimum":0}]}}}`},
		"two types in the second allOf": {schema: `{"type":"object","properties":{"a":{"type":"string","allOf":[{"minimum":1},{"anyOf":[{"type":"integer"},{"type":"string"}]}]}}}`, want: []string{
			`.properties[a].allOf[1].anyOf[0].type: Forbidden: must be empty to be structural`, `.properties[a].allOf[1].anyOf[1].type: Forbidden: must be empty to be structural`}},
		"additionalProperties: false in allOf": {schema: `{"type":"object","allOf":[{"additionalProperties":false}]}`},
		"a list type that is none, of no list": {schema: `{"type":"object","properties":{"a":{"type":"string","x-kubernetes-list-type":"tree"}}}`, want: []string{
			`.properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified`,
			`.properties[a].x-kubernetes-list-type: Unsupported value: "tree": supported values: "atomic", "set", "map"`}},
		"defaults where objects are not pruned": {schema: `{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`, preserve: true, want: []string{
			`spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema`,
			`spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead`}},
		"defaults of additional properties": {schema: `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string","default":5}}}}`},
		"defaults of sets":                  {schema: `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set","default":["a","a"]}}}`},
		"defaults of what is int or string": {schema: `{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"default":1.5}}}`},
		"defaults by a format of other types": {schema: `{"type":"object","properties":{"a":{"type":"number","format":"byte","default":"x"}}}`, want: []string{
			`.properties[a].default: Invalid value: "string":  in body must be of type number: "string"`,
			`.properties[a].default: Invalid value: "x":  in body must be of type byte: "x"`}},
		"a default of the root": {schema: `{"type":"object","default":{"apiVersion":1}}`, want: []string{`.default.apiVersion: Invalid value: 1: must be a string`}},
		"a default of the metadata": {schema: `{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object"}},"default":{"apiVersion":"v1","kind":"P","metadata":"x"}}}}`, want: []string{
			`.properties[e].default.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta`}},
		"no type beside a status":       {schema: `{"anyOf":[{"minimum":1}]}`, status: true, want: []string{" fields are allowed at the root of the schema", `.type: Required value: must not be empty at the root`}},
		"another type beside a status":  {schema: `{"type":"string","enum":["a"]}`, status: true, want: []string{`only "object" is allowed as the type at the root`, `.type: Invalid value: "string": must be object at the root`}},
		"references come before a type": {schema: `{"type":"string","$ref":"#/a"}`, status: true, want: []string{" fields are allowed at the root of the schema", `.$ref: Forbidden: $ref is not supported`}},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widget(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.PreserveUnknownFields = c.preserve
				crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{}
				if err := json.Unmarshal([]byte(c.schema), root(crd)); err != nil {
					t.Fatal(err)
				}
				if c.status {
					crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
				}
			})
			var got []string
			for _, e := range (&Validator{}).Validate(t.Context(), crd, nil) {
				got = append(got, e.Error())
			}
			if !slices.EqualFunc(got, c.want, strings.Contains) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

// Rules of nodes with errors, at them or below, are not compiled.
func TestWrongNodesHaveNoRules(t *testing.T) {
	crd := widget(t, func(c *apiextensionsv1.CustomResourceDefinition) {
		root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"b": {Type: "array", UniqueItems: true, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}}}}
	})
	skipped := map[string]bool{}
	v := &Validator{Rules: func(_ context.Context, path *field.Path, _ *schema.Schema, skip func(*field.Path) bool) field.ErrorList {
		for _, name := range []string{"a", "spec"} {
			skipped[name] = skip(path.Child("properties").Key(name))
		}
		skipped[""] = skip(path)
		return nil
	}}
	if errs := v.Validate(t.Context(), crd, nil); len(errs) != 1 || !skipped["a"] || !skipped[""] || skipped["spec"] {
		t.Errorf("got %v, skipped %v", errs, skipped)
	}
}

func TestValidateUpdate(t *testing.T) {
	old := widget(t)
	old.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	changed := old.DeepCopy()
	changed.Spec.Scope, changed.Spec.Names.Kind = "Cluster", "Other"
	var fields []string
	for _, e := range (&Validator{}).Validate(t.Context(), changed, old) {
		fields = append(fields, e.Field)
	}
	if !slices.Equal(fields, []string{"spec.scope", "spec.names.kind"}) {
		t.Errorf("got %v", fields)
	}
}

// What a stored CRD has wrong may stay, and other wrongs may not come.
func TestUpdateOfInvalid(t *testing.T) {
	set, mapList := "set", "map"
	listOf := func(listType *string, item apiextensionsv1.JSONSchemaProps, keys ...string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "array", XListType: listType, XListMapKeys: keys,
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
	}
	type CRD = *apiextensionsv1.CustomResourceDefinition
	wrongs := map[string]func(CRD){
		"no schema":      func(c CRD) { c.Spec.Versions[0].Schema, c.Spec.PreserveUnknownFields = nil, true },
		"not structural": func(c CRD) { root(c).Type, c.Spec.PreserveUnknownFields = "", true },
		"another type":   func(c CRD) { root(c).Properties["a"] = apiextensionsv1.JSONSchemaProps{Type: "text"} },
		"a set of objects": func(c CRD) {
			root(c).Properties["a"] = listOf(&set, apiextensionsv1.JSONSchemaProps{Type: "object"})
		},
		"keys that are not required": func(c CRD) {
			root(c).Properties["a"] = listOf(&mapList, apiextensionsv1.JSONSchemaProps{Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"k": {Type: "string"}}}, "k")
		},
	}
	for name, wrong := range wrongs {
		t.Run(name, func(t *testing.T) {
			v := &Validator{}
			if errs := v.Validate(t.Context(), widget(t, wrong), widget(t)); len(errs) == 0 {
				t.Error("it came")
			}
			changed := widget(t, wrong, func(c CRD) { c.Spec.Names.ShortNames = []string{"w"} })
			if errs := v.Validate(t.Context(), changed, widget(t, wrong)); len(errs) > 0 {
				t.Errorf("it may not stay: %v", errs)
			}
			changed.Spec.Names.ShortNames = []string{"W"}
			if errs := v.Validate(t.Context(), changed, widget(t, wrong)); len(errs) != 1 {
				t.Errorf("another error came: %v", errs)
			}
		})
	}
}

// Rules may not come, nor stay, in a schema that is not structural, which may stay without.
func TestRulesOfUnstructured(t *testing.T) {
	type CRD = *apiextensionsv1.CustomResourceDefinition
	rules := apiextensionsv1.ValidationRules{{Rule: "true"}}
	untyped := func(c CRD) {
		c.Spec.PreserveUnknownFields = true
		root(c).Properties["foo"] = apiextensionsv1.JSONSchemaProps{}
	}
	const typeless = "spec.validation.openAPIV3Schema.properties[foo].type: Required value: must not be empty for specified object fields"
	for name, c := range map[string]struct {
		rule func(CRD)
		want []string
	}{
		"none":        {func(CRD) {}, nil},
		"at the root": {func(c CRD) { root(c).XValidations = rules }, []string{typeless}},
		"of a property": {func(c CRD) {
			root(c).Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XValidations: rules}
		}, []string{typeless}},
		"in anyOf": {func(c CRD) { root(c).AnyOf = []apiextensionsv1.JSONSchemaProps{{XValidations: rules}} }, []string{
			"spec.validation.openAPIV3Schema.anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural", typeless}},
	} {
		for _, old := range []CRD{widget(t, untyped), widget(t, untyped, c.rule)} {
			var got []string
			for _, err := range (&Validator{}).Validate(t.Context(), widget(t, untyped, c.rule), old) {
				got = append(got, err.Error())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v", name, got)
			}
		}
	}
}
