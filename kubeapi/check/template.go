package check

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TemplateMeta validates the metadata of a template whose objects get labels and
// annotations from it and nothing else.
func TemplateMeta(m *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	errs := validation.ValidateAnnotations(m.Annotations, path.Child("annotations"))
	errs = append(errs, metav1validation.ValidateLabels(m.Labels, path.Child("labels"))...)
	return append(errs, OnlyFields(*m, sets.New("Annotations", "Labels"), "cannot be set", path)...)
}

// OnlyFields refuses the fields of a struct that are set and not allowed. allowed
// has their names in Go; a message has them in lower camel case, as
// kube-apiserver's does.
func OnlyFields(v any, allowed sets.Set[string], msg string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	rv := reflect.ValueOf(v)
	for i := range rv.NumField() {
		name := rv.Type().Field(i).Name
		if !allowed.Has(name) && !rv.Field(i).IsZero() {
			errs = append(errs, field.Forbidden(path.Child(strings.ToLower(name[:1])+name[1:]), msg))
		}
	}
	return errs
}
