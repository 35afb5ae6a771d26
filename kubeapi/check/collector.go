package check

import (
	"slices"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Collector collects the errors of the fields of an object, in the order in which they are found.
type Collector struct {
	// Errors are the errors up to now.
	Errors field.ErrorList
}

// Add adds errors.
func (v *Collector) Add(errs ...*field.Error) { v.Errors = append(v.Errors, errs...) }

// Messages adds an error for each message about a value.
func (v *Collector) Messages(msgs []string, value any, path *field.Path) {
	for _, m := range msgs {
		v.Add(field.Invalid(path, value, m))
	}
}

// Label requires a DNS label.
func (v *Collector) Label(name string, path *field.Path) {
	v.Messages(utilvalidation.IsDNS1123Label(name), name, path)
}

// Subdomain requires a DNS subdomain.
func (v *Collector) Subdomain(name string, path *field.Path) {
	v.Messages(utilvalidation.IsDNS1123Subdomain(name), name, path)
}

// Qualified requires a qualified name, such as the key of a label.
func (v *Collector) Qualified(name string, path *field.Path) {
	v.Messages(utilvalidation.IsQualifiedName(name), name, path)
}

// RelativePath requires a relative path without "..".
func (v *Collector) RelativePath(value string, path *field.Path) {
	if strings.HasPrefix(value, "/") {
		v.Add(field.Invalid(path, value, "must be a relative path"))
	}
	v.NoBackstep(value, path)
}

// NoBackstep requires a path without "..".
func (v *Collector) NoBackstep(value string, path *field.Path) {
	if Backsteps(value) {
		v.Add(field.Invalid(path, value, "must not contain '..'"))
	}
}

// Backsteps reports whether a path has the segment "..".
func Backsteps(path string) bool { return slices.Contains(strings.Split(path, "/"), "..") }

// Forbid adds an error if a field is set.
func (v *Collector) Forbid(set bool, path *field.Path, msg string) {
	if set {
		v.Add(field.Forbidden(path, msg))
	}
}
