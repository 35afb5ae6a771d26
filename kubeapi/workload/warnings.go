package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec/podwarnings"
)

// Object is a pointer to an object with a pod template.
type Object interface {
	comparable
	metav1.Object
}

// Warnings returns warnings about the name of a new object and about its template
// at spec.template, as TemplateWarnings does. old is nil for a new object.
func Warnings[T Object](_ context.Context, obj, old T) []string {
	var none T
	warnings := TemplateWarnings(obj, old, Template(obj), field.NewPath("spec", "template"))
	if old == none {
		warnings = append(NameWarnings(obj.GetName()), warnings...)
	}
	return warnings
}

// TemplateWarnings returns warnings about the template of an object that is new
// or whose spec changes, which its generation shows.
func TemplateWarnings[T Object](obj, old T, t *corev1.PodTemplateSpec, path *field.Path) []string {
	var none T
	if old != none && obj.GetGeneration() == old.GetGeneration() {
		return nil
	}
	return podwarnings.Template(t, path)
}

// NameWarnings returns a warning where the names of pods made from an object's
// name are no DNS labels.
func NameWarnings(name string) []string {
	msgs := utilvalidation.IsDNS1123Label(name)
	if name == "" || len(msgs) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs)}
}
