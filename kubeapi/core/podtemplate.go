package core

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/show"
	"triplane.dev/kubeapi/workload"
)

// podTemplateKind declares the PodTemplate; o says what its pods may be.
func podTemplateKind(o podspec.Options) kind.Kind[*corev1.PodTemplate] {
	return kind.Kind[*corev1.PodTemplate]{
		Hub: gvk("PodTemplate"), Namespaced: true,
		Representation: kind.Typed[*corev1.PodTemplate]{MetadataOnUpdate: kind.MetadataChange},
		Names:          kind.Names{Plural: "podtemplates"},
		Write: kind.Write[*corev1.PodTemplate]{
			AllowUnconditionalUpdate: true, CountsGeneration: true,
			Default:  func(t *corev1.PodTemplate) { podspec.Default(&t.Template) },
			Changed:  func(t, old *corev1.PodTemplate) bool { return check.Differs(&t.Template, &old.Template) },
			Validate: workload.Validate(o, validatePodTemplate),
			Warnings: podTemplateWarnings,
		},
		Delete: kind.Delete[*corev1.PodTemplate]{ReturnsObject: true},
		Show: kind.Show[*corev1.PodTemplate]{Columns: slices.Concat([]kind.Column{show.Name()},
			workload.Containers[*corev1.PodTemplate](),
			[]kind.Column{show.Field("Pod Labels", "template.metadata.labels", "The labels for the pod template.")})},
	}
}

func validatePodTemplate(o podspec.Options, t, _ *corev1.PodTemplate) field.ErrorList {
	return podvalidation.Template(o, &t.Template, field.NewPath("template"))
}

func podTemplateWarnings(_ context.Context, t, old *corev1.PodTemplate) []string {
	return workload.TemplateWarnings(t, old, &t.Template, field.NewPath("template"))
}
