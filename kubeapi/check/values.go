package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/storage/object"
)

// ImmutableMsg is how a change of a fixed field is refused.
const ImmutableMsg = validation.FieldImmutableErrorMsg

// Differs reports whether two values differ for the API; nil and empty do not.
func Differs(a, b any) bool { return !object.Equal(a, b) }

// NonNegative refuses values below zero.
func NonNegative(value int64, path *field.Path) field.ErrorList {
	return validation.ValidateNonnegativeField(value, path)
}

// NonNegativePtr refuses values below zero where there is one.
func NonNegativePtr[N ~int32 | ~int64](value *N, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return NonNegative(int64(*value), path)
}

// Immutable refuses a change of a field. value is what the message shows.
func Immutable(value, old any, path *field.Path) field.ErrorList {
	if object.Equal(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, ImmutableMsg)}
}

// Fixed refuses a change of a field as Immutable does, and does not show the value: markers of the Go types
// declare the field immutable.
func Fixed(value, old any, path *field.Path) field.ErrorList {
	if object.Equal(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, nil, ImmutableMsg)}
}

// DeclaredLast puts errors that say nothing but that a field is required or forbidden behind the others, as those
// of markers of the Go types come after the rest.
func DeclaredLast(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Compare(declaredRank(a), declaredRank(b))
	})
	return errs
}

func declaredRank(e *field.Error) int {
	if e.Detail == "" && (e.Type == field.ErrorTypeRequired || e.Type == field.ErrorTypeForbidden) {
		return 1
	}
	return 0
}

// Name returns the messages of a name check as errors.
func Name(msgs []string, value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, m := range msgs {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

// Subdomain validates a DNS subdomain.
func Subdomain(value string, path *field.Path) field.ErrorList {
	return Name(utilvalidation.IsDNS1123Subdomain(value), value, path)
}

// Label validates a DNS label.
func Label(value string, path *field.Path) field.ErrorList {
	return Name(utilvalidation.IsDNS1123Label(value), value, path)
}

// LabelValue validates the value of a label.
func LabelValue(value string, path *field.Path) field.ErrorList {
	return Name(utilvalidation.IsValidLabelValue(value), value, path)
}

// QualifiedName validates a name with an optional domain before a slash.
func QualifiedName(value string, path *field.Path) field.ErrorList {
	return Name(utilvalidation.IsQualifiedName(value), value, path)
}

// PathSegment validates a name that becomes an element of a URL path.
func PathSegment(value string, path *field.Path) field.ErrorList {
	return Name(PathSegmentName(value, false), value, path)
}

// SubdomainName returns what is wrong with a name as a DNS subdomain, for kinds
// that take any generateName.
func SubdomainName(name string, prefix bool) []string {
	if prefix {
		return nil
	}
	return content.IsDNS1123Subdomain(name)
}

// PathSegmentName returns what is wrong with a name as a path element; it is what
// names are held to that need not be DNS names.
func PathSegmentName(name string, _ bool) []string {
	if name == "." || name == ".." {
		return []string{fmt.Sprintf("may not be '%s'", name)}
	}
	var msgs []string
	for _, s := range []string{"/", "%"} {
		if strings.Contains(name, s) {
			msgs = append(msgs, fmt.Sprintf("may not contain '%s'", s))
		}
	}
	return msgs
}

// NonNegativeIntOrPercent validates a number or a percentage.
func NonNegativeIntOrPercent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if v.Type == intstr.String {
		return Name(utilvalidation.IsValidPercent(v.StrVal), v.StrVal, path)
	}
	return NonNegative(int64(v.IntVal), path)
}

// AtMost100Percent refuses percentages above 100.
func AtMost100Percent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if p, ok := percent(v); ok && p > 100 {
		return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
	}
	return nil
}

// IntOrPercentValue is the number, or the number before the percent sign.
func IntOrPercentValue(v intstr.IntOrString) int {
	if p, ok := percent(v); ok {
		return p
	}
	return v.IntValue()
}

func percent(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(utilvalidation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	p, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	return p, err == nil
}

// OneOf refuses a value that is none of those.
func OneOf[V ~string](value V, path *field.Path, supported ...V) field.ErrorList {
	for _, s := range supported {
		if s == value {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

// RequiredOneOf requires one of the values.
func RequiredOneOf[V ~string](value V, path *field.Path, supported ...V) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return OneOf(value, path, supported...)
}

// ConditionsUnique refuses a condition type that appears twice or is empty.
func ConditionsUnique(types []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, t := range types {
		if seen[t] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("type"), t))
		}
		seen[t] = true
		if t == "" {
			errs = append(errs, field.Required(path.Index(i).Child("type"), ""))
		}
	}
	return errs
}

// ConditionStatuses are the values of a condition's status.
func ConditionStatuses() []corev1.ConditionStatus {
	return []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
}
