package library

import (
	"encoding/base64"
	"net/url"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

var formatType = types.NewOpaqueType("kubernetes.NamedFormat")

// format is a named format. validate returns the error messages for a string.
type format struct {
	name string
	// pattern is the pattern length for the cost of a validation.
	pattern  uint64
	validate func(string) []string
}

func messages(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}

// namedFormats returns the formats that rules can use.
func namedFormats() []format {
	prefixed := func(f func(string, bool) []string, prefix bool) func(string) []string {
		return func(s string) []string { return f(s, prefix) }
	}
	return []format{
		{"dns1123Label", 30, prefixed(validation.NameIsDNSLabel, false)},
		{"dns1123Subdomain", 60, prefixed(validation.NameIsDNSSubdomain, false)},
		{"dns1035Label", 30, prefixed(validation.NameIsDNS1035Label, false)},
		{"qualifiedName", 60, utilvalidation.IsQualifiedName},
		{"dns1123LabelPrefix", 30, prefixed(validation.NameIsDNSLabel, true)},
		{"dns1123SubdomainPrefix", 60, prefixed(validation.NameIsDNSSubdomain, true)},
		{"dns1035LabelPrefix", 30, prefixed(validation.NameIsDNS1035Label, true)},
		{"labelValue", 40, utilvalidation.IsValidLabelValue},
		{"uri", 1104, func(s string) []string { _, err := url.ParseRequestURI(s); return messages(err) }},
		{"uuid", 72, func(s string) []string {
			if !strfmt.Default.Validates("uuid", s) {
				return []string{"does not match the UUID format"}
			}
			return nil
		}},
		{"byte", 84, func(s string) []string {
			if _, err := base64.StdEncoding.DecodeString(s); err != nil {
				return []string{"invalid base64"}
			}
			return nil
		}},
		{"date", 72, func(s string) []string {
			if _, err := time.Parse(time.DateOnly, s); err != nil {
				return []string{"invalid date"}
			}
			return nil
		}},
		{"datetime", 72, func(s string) []string {
			if !strfmt.IsDateTime(s) {
				return []string{"invalid datetime"}
			}
			return nil
		}},
	}
}

func formats() []cel.EnvOption {
	value := func(f format) ref.Val {
		return opaque[format]{formatType, f, func(a, b format) bool { return a.name == b.name }}
	}
	all := namedFormats()
	out := []cel.EnvOption{
		global("format.named", "format-named", ts{str}, types.NewOptionalType(formatType), func(a ...ref.Val) ref.Val {
			for _, f := range all {
				if f.name == text(a[0]) {
					return types.OptionalOf(value(f))
				}
			}
			return types.OptionalNone
		}),
		member("validate", "format-validate", ts{formatType, str}, types.NewOptionalType(types.NewListType(str)),
			func(a ...ref.Val) ref.Val {
				msgs := a[0].(opaque[format]).v.validate(text(a[1]))
				if len(msgs) == 0 {
					return types.OptionalNone
				}
				return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, msgs))
			}),
	}
	for _, f := range all {
		out = append(out, global("format."+f.name, "format-"+f.name, ts{}, formatType,
			func(...ref.Val) ref.Val { return value(f) }))
	}
	return out
}
