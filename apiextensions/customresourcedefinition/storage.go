package customresourcedefinition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/storage/wire"
)

// Storage keeps CRDs as JSON in v1beta1, as kube-apiserver does to this day,
// and reads both versions.
//
// Both versions write schemas alike, and a schema is nearly all of a CRD. So it is not
// converted: its place is taken by its number, as the description of a schema, while the rest
// is.
type Storage struct {
	// Closed leaves schemas as the bytes that storage holds: in memory something stands for each, from which it is
	// written again. It is for who changes something else. Nothing that a client sends is written so.
	Closed bool
}

// EncodeStored implements registry.StorageCodec.
func (c Storage) EncodeStored(obj runtime.Object) ([]byte, error) {
	crd, ok := obj.(Object)
	if !ok {
		return nil, fmt.Errorf("%T is no CustomResourceDefinition", obj)
	}
	numbered, schemas, err := c.takeSchemas(crd)
	if err != nil {
		return nil, err
	}
	var hub apiextensions.CustomResourceDefinition
	// Conversion shares what it can, and moves what all versions have in common.
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		numbered.DeepCopy(), &hub, nil); err != nil {
		return nil, err
	}
	var stored apiextensionsv1beta1.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(&hub,
		&stored, nil); err != nil {
		return nil, err
	}
	stored.SetGroupVersionKind(apiextensionsv1beta1.SchemeGroupVersion.WithKind(GVK.Kind))
	b, err := withSchemas(&stored, schemas)
	return append(b, '\n'), err
}

// withSchemas encodes a CRD and replaces the numbers by its schemas.
func withSchemas(numbered any, schemas [][]byte) ([]byte, error) {
	b, err := wire.AppendJSON(nil, numbered)
	if err != nil {
		return nil, err
	}
	size := len(b) + 1
	for _, s := range schemas {
		size += len(s)
	}
	var broken error
	out := schemasOfVersions.edit(make([]byte, 0, size), b, func(part []byte) ([]byte, bool) {
		var number apiextensionsv1.JSONSchemaProps
		i := 0
		if broken = errors.Join(broken, json.Unmarshal(part, &number)); broken == nil {
			i, broken = numberOf(&number, len(schemas))
		}
		if broken != nil {
			return nil, false
		}
		return schemas[i], true
	})
	return out, broken
}

// TranscodeJSON implements registry.Transcoder: schemas are copied.
func (Storage) TranscodeJSON(value []byte, resourceVersion string) ([]byte, error) {
	crd, schemas, err := readNumbered(value)
	if err != nil {
		return nil, err
	}
	crd.SetGroupVersionKind(GVK)
	crd.ResourceVersion = resourceVersion
	return withSchemas(crd, schemas)
}

// takeSchemas returns the CRD with its schemas replaced by numbers, the same for equal schemas, and the JSON of each.
func (c Storage) takeSchemas(crd Object) (Object, [][]byte, error) {
	numbered := *crd
	numbered.Spec.Versions = slices.Clone(crd.Spec.Versions)
	var all [][]byte
	for i := range numbered.Spec.Versions {
		v := &numbered.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		s, err := c.encodeSchema(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, nil, err
		}
		n := slices.IndexFunc(all, func(other []byte) bool { return bytes.Equal(s, other) })
		if n < 0 {
			n, all = len(all), append(all, s)
		}
		v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: number(n)}
	}
	return &numbered, all, nil
}

// number is what stands for the nth schema.
func number(n int) *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Description: strconv.Itoa(n)}
}

// numberOf returns which of so many schemas it is that something stands for.
func numberOf(s *apiextensionsv1.JSONSchemaProps, of int) (int, error) {
	n, err := strconv.Atoi(s.Description)
	if err == nil && (n < 0 || n >= of) {
		err = fmt.Errorf("there is no schema %d", n)
	}
	return n, err
}

// encodeSchema writes a schema with its values (defaults, examples, enumerations) as the
// conversion between versions leaves them: with keys in order.
func (c Storage) encodeSchema(s *apiextensionsv1.JSONSchemaProps) ([]byte, error) {
	if c.Closed {
		return s.Example.Raw, nil
	}
	if !hasValue(s, outOfOrder) {
		return wire.AppendJSON(nil, s)
	}
	var hub apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &hub,
		nil); err != nil {
		return nil, err
	}
	var ordered apiextensionsv1.JSONSchemaProps
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(&hub, &ordered,
		nil); err != nil {
		return nil, err
	}
	return wire.AppendJSON(nil, &ordered)
}

// outOfOrder reports whether a value may be written in another way: all but words, and plain
// texts and integers, may.
func outOfOrder(v *apiextensionsv1.JSON) bool {
	raw := v.Raw
	if n := len(raw); n >= 2 && raw[0] == '"' {
		return bytes.ContainsFunc(raw[1:n-1], func(r rune) bool {
			return r < 0x20 || r >= 0x7f || r == '\\' || r == '<' || r == '>' || r == '&'
		})
	}
	switch string(raw) {
	case "", "true", "false", "{}", "[]":
		return false
	}
	_, err := strconv.ParseInt(string(raw), 10, 64)
	return err != nil || string(raw) == "-0"
}

// hasValue reports whether a value of a schema, or of those in it, is so.
func hasValue(s *apiextensionsv1.JSONSchemaProps, is func(*apiextensionsv1.JSON) bool) bool {
	if s == nil {
		return false
	}
	for i := range s.Enum {
		if is(&s.Enum[i]) {
			return true
		}
	}
	inner := func(s apiextensionsv1.JSONSchemaProps) bool { return hasValue(&s, is) }
	inMap := func(m map[string]apiextensionsv1.JSONSchemaProps) bool {
		for _, s := range m {
			if hasValue(&s, is) {
				return true
			}
		}
		return false
	}
	return s.Default != nil && is(s.Default) || s.Example != nil && is(s.Example) ||
		hasValue(s.Not, is) || inMap(s.Properties) || inMap(s.PatternProperties) || inMap(s.Definitions) ||
		len(s.Dependencies) > 0 ||
		s.AdditionalProperties != nil && hasValue(s.AdditionalProperties.Schema, is) ||
		s.AdditionalItems != nil && hasValue(s.AdditionalItems.Schema, is) ||
		s.Items != nil && (hasValue(s.Items.Schema, is) || slices.ContainsFunc(s.Items.JSONSchemas, inner)) ||
		slices.ContainsFunc(s.AllOf, inner) || slices.ContainsFunc(s.OneOf, inner) || slices.ContainsFunc(s.AnyOf, inner)
}

// DecodeStored implements registry.StorageCodec.
func (c Storage) DecodeStored(value []byte) (runtime.Object, error) {
	if !c.Closed {
		return decodeCRD(value)
	}
	crd, stored, err := readNumbered(value)
	if err != nil {
		return nil, err
	}
	return crd, eachSchema(crd, len(stored), func(v *apiextensionsv1.CustomResourceDefinitionVersion, n int) {
		v.Schema = &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Example: &apiextensionsv1.JSON{Raw: stored[n]}},
		}
	})
}

// decodeCRD reads a CRD as storage holds it.
func decodeCRD(value []byte) (Object, error) {
	crd, stored, err := readNumbered(value)
	if err != nil {
		return nil, err
	}
	schemas := make([]*apiextensionsv1.JSONSchemaProps, len(stored))
	for i, s := range stored {
		if schemas[i], err = decodeSchema(s); err != nil {
			return nil, err
		}
	}
	return crd, eachSchema(crd, len(schemas), func(v *apiextensionsv1.CustomResourceDefinitionVersion, n int) {
		v.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schemas[n]}
	})
}

func decodeSchema(value []byte) (*apiextensionsv1.JSONSchemaProps, error) {
	s := &apiextensionsv1.JSONSchemaProps{}
	return s, kjson.UnmarshalCaseSensitivePreserveInts(value, s)
}

// Schemas returns the schemas of versions as storage holds them.
func Schemas(value []byte) (map[string][]byte, error) {
	crd, stored, err := readNumbered(value)
	if err != nil {
		return nil, err
	}
	schemas := map[string][]byte{}
	return schemas, eachSchema(crd, len(stored), func(v *apiextensionsv1.CustomResourceDefinitionVersion,
		n int) {
		schemas[v.Name] = stored[n]
	})
}

// readNumbered reads a CRD whose schemas are replaced by numbers; it also returns the schemas.
func readNumbered(value []byte) (Object, [][]byte, error) {
	var schemas [][]byte
	numbered := schemasOfVersions.edit(make([]byte, 0, 4096), value, func(part []byte) ([]byte, bool) {
		if string(part) == "null" {
			return part, true
		}
		schemas = append(schemas, part)
		return fmt.Appendf(nil, `{"description":"%d"}`, len(schemas)-1), true
	})
	crd, err := decodeAtOnce(numbered)
	return crd, schemas, err
}

// eachSchema calls f with the versions that have one of so many schemas, and with its number.
func eachSchema(crd Object, of int, f func(v *apiextensionsv1.CustomResourceDefinitionVersion, n int)) error {
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		n, err := numberOf(v.Schema.OpenAPIV3Schema, of)
		if err != nil {
			return err
		}
		f(v, n)
	}
	return nil
}

// readPlain reads a document by the codec's table if possible, otherwise by the library.
func readPlain[T any, P interface {
	*T
	runtime.Object
}](value []byte) (P, error) {
	if obj := P(new(T)); codec.ReadJSON(value, obj) {
		return obj, nil
	}
	obj := P(new(T))
	if err := kjson.UnmarshalCaseSensitivePreserveInts(value, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// decodeAtOnce reads a CRD without schemas, or with numbers in their place.
func decodeAtOnce(value []byte) (Object, error) {
	if string(wire.MemberOf(value, "apiVersion")) != strconv.Quote(apiextensionsv1beta1.SchemeGroupVersion.String()) {
		crd, err := readPlain[apiextensionsv1.CustomResourceDefinition](value)
		if err == nil {
			setDefaults(crd)
		}
		return crd, err
	}
	stored, err := readPlain[apiextensionsv1beta1.CustomResourceDefinition](value)
	if err != nil {
		return nil, err
	}
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinition(stored)
	apiextensionsv1beta1.SetDefaults_CustomResourceDefinitionSpec(&stored.Spec)
	var hub apiextensions.CustomResourceDefinition
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		stored, &hub, nil); err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(&hub, crd,
		nil); err != nil {
		return nil, err
	}
	crd.SetGroupVersionKind(GVK)
	setDefaults(crd)
	return crd, nil
}
