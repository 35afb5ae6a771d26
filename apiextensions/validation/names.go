package validation

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

func requiredNames(names *apiextensionsv1.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, n := range []struct{ name, value string }{
		{"plural", names.Plural}, {"singular", names.Singular}, {"kind", names.Kind}, {"listKind", names.ListKind},
	} {
		if n.value == "" {
			errs = append(errs, field.Required(path.Child(n.name), ""))
		}
	}
	return errs
}

func validateNames(names *apiextensionsv1.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	label := func(at *field.Path, value string, mixed bool) {
		if value == "" && at != nil {
			return
		}
		checked, prefix := value, ""
		if mixed {
			checked, prefix = strings.ToLower(value), "may have mixed case, but should otherwise match: "
		}
		if msgs := utilvalidation.IsDNS1035Label(checked); len(msgs) > 0 {
			errs = append(errs, field.Invalid(at, value, prefix+strings.Join(msgs, ",")))
		}
	}
	label(path.Child("plural"), names.Plural, false)
	label(path.Child("singular"), names.Singular, false)
	label(path.Child("kind"), names.Kind, true)
	label(path.Child("listKind"), names.ListKind, true)
	for i, name := range names.ShortNames {
		if msgs := utilvalidation.IsDNS1035Label(name); len(msgs) > 0 {
			errs = append(errs, field.Invalid(path.Child("shortNames").Index(i), name, strings.Join(msgs, ",")))
		}
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range names.Categories {
		if msgs := utilvalidation.IsDNS1035Label(name); len(msgs) > 0 {
			errs = append(errs, field.Invalid(path.Child("categories").Index(i), name, strings.Join(msgs, ",")))
		}
	}
	return errs
}

const maxDeprecationWarning = 256

// deprecation returns what is wrong with a version's deprecation warning.
func deprecation(version *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	if version.DeprecationWarning == nil {
		return nil
	}
	var msgs []string
	text := *version.DeprecationWarning
	if !version.Deprecated {
		return []string{"can only be set for deprecated versions"}
	}
	if len(text) > maxDeprecationWarning {
		msgs = append(msgs, fmt.Sprintf("must be <= %d characters long", maxDeprecationWarning))
	}
	if text == "" {
		msgs = append(msgs, "must not be an empty string")
	}
	if !utf8.ValidString(text) {
		msgs = append(msgs, "must only contain printable UTF-8 characters")
	}
	for i, r := range text {
		if !unicode.IsPrint(r) {
			msgs = append(msgs, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
			break
		}
	}
	return msgs
}

func validateSubresources(sub *apiextensionsv1.CustomResourceSubresources, path *field.Path) field.ErrorList {
	if sub == nil || sub.Scale == nil {
		return nil
	}
	var errs field.ErrorList
	check := func(name, value string, required bool, must string, below ...string) {
		at := path.Child("scale", name)
		if value == "" && required {
			errs = append(errs, field.Required(at, ""))
			return
		}
		if more := schema.ValidateSimplePath(at, value); len(more) > 0 {
			errs = append(errs, more...)
			return
		}
		for _, b := range below {
			if strings.HasPrefix(value, b) {
				return
			}
		}
		errs = append(errs, field.Invalid(at, value, must))
	}
	check("specReplicasPath", sub.Scale.SpecReplicasPath, true, "should be a json path under .spec", ".spec.")
	check("statusReplicasPath", sub.Scale.StatusReplicasPath, true, "should be a json path under .status", ".status.")
	if p := sub.Scale.LabelSelectorPath; p != nil && *p != "" {
		check("labelSelectorPath", *p, false, "should be a json path under either .spec or .status", ".spec.", ".status.")
	}
	return errs
}

var (
	columnTypes   = sets.New("integer", "number", "string", "boolean", "date")
	columnFormats = sets.New("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
)

func validateColumn(col *apiextensionsv1.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if col.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	types := "must be one of " + strings.Join(sets.List(columnTypes), ",")
	if col.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), types))
	} else if !columnTypes.Has(col.Type) {
		errs = append(errs, field.Invalid(path.Child("type"), col.Type, types))
	}
	if col.Format != "" && !columnFormats.Has(col.Format) {
		errs = append(errs, field.Invalid(path.Child("format"), col.Format, "must be one of "+
			strings.Join(sets.List(columnFormats), ",")))
	}
	if col.JSONPath == "" {
		errs = append(errs, field.Required(path.Child("JSONPath"), ""))
	} else {
		errs = append(errs, schema.ValidateSimplePath(path.Child("JSONPath"), col.JSONPath)...)
	}
	return errs
}
