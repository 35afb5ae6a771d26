package schema

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// textFormats are the formats that texts are validated by; others only inform.
// The names are without dashes, as the registry of formats compares them.
var textFormats = map[string]bool{
	"bsonobjectid": true, "uri": true, "email": true, "hostname": true,
	"ipv4": true, "ipv6": true, "cidr": true, "mac": true,
	"uuid": true, "uuid3": true, "uuid4": true, "uuid5": true,
	"isbn": true, "isbn10": true, "isbn13": true, "creditcard": true, "ssn": true,
	"hexcolor": true, "rgbcolor": true, "byte": true, "password": true,
	"date": true, "duration": true, "datetime": true,
	"k8sshortname": true, "k8slongname": true,
}

// KnownFormat reports whether values of the type are validated against the format.
// A schema without a type has the formats of texts.
func KnownFormat(typ, format string) bool {
	switch typ {
	case "", "string":
		return textFormats[strings.ReplaceAll(format, "-", "")]
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

// ToOpenAPI turns a schema into kube-openapi's model. edit, where given, may
// change each node of the result; it sees parents after their children.
func ToOpenAPI(in *apiextensionsv1.JSONSchemaProps, edit func(*spec.Schema)) (*spec.Schema, error) {
	if in == nil {
		return nil, nil
	}
	out := &spec.Schema{SchemaProps: spec.SchemaProps{
		ID: in.ID, Schema: spec.SchemaURL(in.Schema), Description: in.Description, Title: in.Title,
		Format: in.Format, Nullable: in.Nullable,
		Maximum: in.Maximum, ExclusiveMaximum: in.ExclusiveMaximum,
		Minimum: in.Minimum, ExclusiveMinimum: in.ExclusiveMinimum,
		MaxLength: in.MaxLength, MinLength: in.MinLength, Pattern: in.Pattern,
		MaxItems: in.MaxItems, MinItems: in.MinItems, UniqueItems: in.UniqueItems,
		MultipleOf:    in.MultipleOf,
		MaxProperties: in.MaxProperties, MinProperties: in.MinProperties, Required: in.Required,
	}}
	if in.Type != "" {
		out.Type = spec.StringOrArray{in.Type}
	}
	if err := convertValues(in, out); err != nil {
		return nil, err
	}
	if err := convertChildren(in, out, edit); err != nil {
		return nil, err
	}
	convertExtensions(in, out)
	if edit != nil {
		edit(out)
	}
	return out, nil
}

func convertValues(in *apiextensionsv1.JSONSchemaProps, out *spec.Schema) error {
	if in.Default != nil {
		v, err := decode(in.Default.Raw)
		if err != nil {
			return err
		}
		out.Default = v
	}
	if in.Example != nil {
		v, err := decode(in.Example.Raw)
		if err != nil {
			return err
		}
		out.Example = v
	}
	for i := range in.Enum {
		v, err := decode(in.Enum[i].Raw)
		if err != nil {
			return err
		}
		out.Enum = append(out.Enum, v)
	}
	if in.ExternalDocs != nil {
		out.ExternalDocs = &spec.ExternalDocumentation{Description: in.ExternalDocs.Description, URL: in.ExternalDocs.URL}
	}
	return nil
}

func convertChildren(in *apiextensionsv1.JSONSchemaProps, out *spec.Schema, edit func(*spec.Schema)) (err error) {
	if in.Items != nil && in.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{}
		if out.Items.Schema, err = ToOpenAPI(in.Items.Schema, edit); err != nil {
			return err
		}
	}
	if out.AllOf, err = convertList(in.AllOf, edit); err != nil {
		return err
	}
	if out.OneOf, err = convertList(in.OneOf, edit); err != nil {
		return err
	}
	if out.AnyOf, err = convertList(in.AnyOf, edit); err != nil {
		return err
	}
	if out.Not, err = ToOpenAPI(in.Not, edit); err != nil {
		return err
	}
	if len(in.Properties) > 0 {
		out.Properties = make(map[string]spec.Schema, len(in.Properties))
		for name := range in.Properties {
			p := in.Properties[name]
			c, err := ToOpenAPI(&p, edit)
			if err != nil {
				return err
			}
			out.Properties[name] = *c
		}
	}
	if a := in.AdditionalProperties; a != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows}
		if out.AdditionalProperties.Schema, err = ToOpenAPI(a.Schema, edit); err != nil {
			return err
		}
	}
	return nil
}

func convertList(in []apiextensionsv1.JSONSchemaProps, edit func(*spec.Schema)) ([]spec.Schema, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]spec.Schema, 0, len(in))
	for i := range in {
		c, err := ToOpenAPI(&in[i], edit)
		if err != nil {
			return nil, err
		}
		out = append(out, *c)
	}
	return out, nil
}

func convertExtensions(in *apiextensionsv1.JSONSchemaProps, out *spec.Schema) {
	if in.XPreserveUnknownFields != nil {
		out.AddExtension("x-kubernetes-preserve-unknown-fields", *in.XPreserveUnknownFields)
	}
	if in.XEmbeddedResource {
		out.AddExtension("x-kubernetes-embedded-resource", true)
	}
	if in.XIntOrString {
		out.AddExtension("x-kubernetes-int-or-string", true)
	}
	if len(in.XListMapKeys) > 0 {
		keys := make([]any, len(in.XListMapKeys))
		for i, k := range in.XListMapKeys {
			keys[i] = k
		}
		out.AddExtension("x-kubernetes-list-map-keys", keys)
	}
	if in.XListType != nil {
		out.AddExtension("x-kubernetes-list-type", *in.XListType)
	}
	if in.XMapType != nil {
		out.AddExtension("x-kubernetes-map-type", *in.XMapType)
	}
	if len(in.XValidations) > 0 {
		out.AddExtension("x-kubernetes-validations", []apiextensionsv1.ValidationRule(in.XValidations))
	}
}
