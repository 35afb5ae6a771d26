package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilschema "k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// CoerceRoot brings the metadata of an object into the form of ObjectMeta. It
// returns the paths of fields that ObjectMeta does not know, which are removed,
// if asked for them. Metadata of wrong types is an error.
func CoerceRoot(obj map[string]any, report bool) ([]string, error) {
	v, found := obj["metadata"]
	if !found || isPlainMetadata(v) {
		return nil, nil
	}
	meta, unknown, err := readMetadata(v, report)
	if err != nil {
		return nil, err
	}
	obj["metadata"] = meta
	return prefixed("metadata.", unknown), nil
}

// RepairMetadata brings the metadata of an object that is stored, and of resources
// embedded in it, into the form of ObjectMeta. Fields of wrong types, which no
// request can write, are left out.
func RepairMetadata(obj map[string]any, s *Schema) {
	if v, found := obj["metadata"]; found && !isPlainMetadata(v) {
		obj["metadata"] = repaired(v)
	}
	if s != nil && s.embeds {
		c := coercer{repair: true}
		c.children(nil, obj, s)
	}
}

// repaired takes a value through ObjectMeta, where that fails field by field.
func repaired(v any) map[string]any {
	if meta, _, err := readMetadata(v, false); err == nil {
		return meta
	}
	fields, _ := v.(map[string]any)
	kept := make(map[string]any, len(fields))
	for name, value := range fields {
		if meta, _, err := readMetadata(map[string]any{name: value}, false); err == nil {
			maps.Copy(kept, meta)
		}
	}
	return kept
}

// CoerceEmbedded does the same for the metadata of embedded resources, and sees
// to it that their kind and apiVersion are text.
func CoerceEmbedded(obj map[string]any, s *Schema, report bool) ([]string, error) {
	if s == nil || !s.embeds {
		return nil, nil
	}
	c := coercer{report: report}
	c.children(nil, obj, s)
	if c.err != nil {
		return nil, c.err
	}
	return c.unknown, nil
}

type coercer struct {
	report bool
	// repair leaves out what is of a wrong type, which is an error without it.
	repair  bool
	unknown []string
	err     *field.Error
}

func (c *coercer) value(p *field.Path, v any, s *Schema) {
	if s == nil || !s.embeds || c.err != nil {
		return
	}
	if m, ok := v.(map[string]any); ok && s.Embedded {
		c.resource(p, m)
	}
	c.children(p, v, s)
}

func (c *coercer) resource(p *field.Path, m map[string]any) {
	for _, name := range []string{"apiVersion", "kind"} {
		if v, found := m[name]; found {
			if _, ok := v.(string); ok {
				continue
			}
			if c.repair {
				delete(m, name)
			} else {
				c.err = field.Invalid(p.Child(name), v, mustBeText)
				return
			}
		}
	}
	v, found := m["metadata"]
	if !found || isPlainMetadata(v) {
		return
	}
	if c.repair {
		m["metadata"] = repaired(v)
		return
	}
	meta, unknown, err := readMetadata(v, c.report)
	if err != nil {
		c.err = field.Invalid(p.Child("metadata"), v, err.Error())
		return
	}
	m["metadata"] = meta
	c.unknown = append(c.unknown, prefixed(p.Child("metadata").String()+".", unknown)...)
}

func (c *coercer) children(p *field.Path, v any, s *Schema) {
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			if s.Embedded && isMetaField(name) {
				continue
			}
			if prop, ok := s.Properties[name]; ok {
				c.value(p.Child(name), v, prop)
			} else if s.Additional != nil {
				c.value(p.Key(name), v, s.Additional)
			}
		}
	case []any:
		for i, v := range x {
			c.value(p.Index(i), v, s.Items)
		}
	}
}

// ValidateMetadata validates kind, apiVersion and metadata of embedded resources.
func ValidateMetadata(p *field.Path, v any, s *Schema) field.ErrorList {
	if s == nil || !s.embeds {
		return nil
	}
	var errs field.ErrorList
	switch x := v.(type) {
	case map[string]any:
		for name, v := range x {
			if prop, ok := s.Properties[name]; ok {
				errs = append(errs, validateNested(p.Child(name), v, prop)...)
			} else if s.Additional != nil {
				errs = append(errs, validateNested(p.Key(name), v, s.Additional)...)
			}
		}
	case []any:
		for i, v := range x {
			errs = append(errs, validateNested(p.Index(i), v, s.Items)...)
		}
	}
	return errs
}

func validateNested(p *field.Path, v any, s *Schema) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	if m, ok := v.(map[string]any); ok && s.Embedded {
		errs = validateResource(p, m)
	}
	return append(errs, ValidateMetadata(p, v, s)...)
}

const mustBeText = "must be a string"

func validateResource(p *field.Path, m map[string]any) field.ErrorList {
	var errs field.ErrorList
	if v, found := m["apiVersion"]; !found {
		errs = append(errs, field.Required(p.Child("apiVersion"), ""))
	} else if s, ok := v.(string); !ok {
		errs = append(errs, field.Invalid(p.Child("apiVersion"), v, mustBeText))
	} else if s == "" {
		errs = append(errs, field.Invalid(p.Child("apiVersion"), s, "must not be empty"))
	} else if _, err := utilschema.ParseGroupVersion(s); err != nil {
		errs = append(errs, field.Invalid(p.Child("apiVersion"), s, err.Error()))
	}
	if v, found := m["kind"]; !found {
		errs = append(errs, field.Required(p.Child("kind"), ""))
	} else if s, ok := v.(string); !ok {
		errs = append(errs, field.Invalid(p.Child("kind"), v, mustBeText))
	} else if s == "" {
		errs = append(errs, field.Invalid(p.Child("kind"), s, "must not be empty"))
	} else if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(s)); len(msgs) > 0 {
		errs = append(errs, field.Invalid(p.Child("kind"), s,
			"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
	}
	if v, found := m["metadata"]; found {
		errs = append(errs, validateObjectMeta(p.Child("metadata"), v)...)
	}
	return errs
}

func validateObjectMeta(p *field.Path, v any) field.ErrorList {
	b, err := json.Marshal(v)
	if err != nil {
		return field.ErrorList{field.Invalid(p, "", err.Error())}
	}
	var meta metav1.ObjectMeta
	if err := json.Unmarshal(b, &meta); err != nil {
		return field.ErrorList{field.Invalid(p, v, err.Error())}
	}
	if meta.Name == "" {
		meta.Name = "unnamed" // a template needs no name
	}
	return validation.ValidateObjectMeta(&meta, meta.Namespace != "", path.ValidatePathSegmentName, p)
}

// readMetadata takes a value through ObjectMeta.
func readMetadata(v any, report bool) (map[string]any, []string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, nil, err
	}
	var meta metav1.ObjectMeta
	var unknown []string
	if report {
		strict, err := kjson.UnmarshalStrict(b, &meta)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range strict {
			var fe kjson.FieldError
			if errors.As(e, &fe) {
				unknown = append(unknown, fe.FieldPath())
			}
		}
	} else if err := kjson.UnmarshalCaseSensitivePreserveInts(b, &meta); err != nil {
		return nil, nil, err
	}
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta)
	if err != nil {
		return nil, nil, err
	}
	if u["creationTimestamp"] == nil {
		delete(u, "creationTimestamp")
	}
	return u, unknown, nil
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
