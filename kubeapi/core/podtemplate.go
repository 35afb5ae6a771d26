package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			AllowUnconditionalUpdate: true,
			Default:                  func(t *corev1.PodTemplate) { podspec.Default(&t.Template) },
			CountsGeneration:         true,
			Changed:                  func(t, old *corev1.PodTemplate) bool { return check.Differs(&t.Template, &old.Template) },
			Validate: func(_ context.Context, t *corev1.PodTemplate) field.ErrorList {
				return podvalidation.Template(o, &t.Template, field.NewPath("template"))
			},
			ValidateUpdate: func(_ context.Context, t, old *corev1.PodTemplate) field.ErrorList {
				return podvalidation.Template(o.Ratchet(&old.Template.Spec), &t.Template, field.NewPath("template"))
			},
			Warnings: func(_ context.Context, t, old *corev1.PodTemplate) []string {
				return workload.TemplateWarnings(t, old, &t.Template, field.NewPath("template"))
			},
		},
		Delete: kind.Delete[*corev1.PodTemplate]{ReturnsObject: true},
		Show: kind.Show[*corev1.PodTemplate]{
			Columns: []kind.Column{
				show.Name(), show.Text("Containers", "Names of each container in the template."),
				show.Text("Images", "Images referenced by each container in the template."),
				show.Text("Pod Labels", "The labels for the pod template."),
			},
			Cells: func(t *corev1.PodTemplate, _ func(metav1.Time) string) []any {
				names, images := show.Containers(t.Template.Spec.Containers)
				return []any{t.Name, names, images, show.Labels(t.Template.Labels)}
			},
		},
	}
}
