package core

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/workload"
)

// podTemplateKind declares the PodTemplate; o says what its pods may be.
func podTemplateKind(o podspec.Options) kind.Kind[*corev1.PodTemplate] {
	type template = *corev1.PodTemplate
	return kind.Kind[template]{
		Namespaced:     true,
		Representation: kind.Typed[template]{MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[template]{
			AllowUnconditionalUpdate: kind.Always, CountsGeneration: true,
			Default:  func(t template) { podspec.Default(&t.Template) },
			Changed:  func(t, old template) bool { return check.Differs(&t.Template, &old.Template) },
			Validate: workload.Validate(o, validatePodTemplate),
			Warnings: podTemplateWarnings,
		},
		Delete: kind.Delete[template]{ReturnsObject: true},
		Columns: slices.Concat([]kind.Column{show.Name()}, workload.Containers(),
			[]kind.Column{show.Field("Pod Labels", "template.metadata.labels", "The labels for the pod template.")}),
	}
}

func validatePodTemplate(o podspec.Options, t, _ *corev1.PodTemplate) field.ErrorList {
	return podvalidation.Template(o, &t.Template, field.NewPath("template"))
}

func podTemplateWarnings(_ context.Context, t, old *corev1.PodTemplate) []string {
	return workload.TemplateWarnings(t, old, &t.Template, field.NewPath("template"))
}
