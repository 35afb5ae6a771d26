package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

// podTemplateKind declares pod templates.
func podTemplateKind() registry.Kind[*corev1.PodTemplate] {
	return registry.Kind[*corev1.PodTemplate]{
		Hub: kind("PodTemplate"), Plural: "podtemplates", Singular: "podtemplate", Namespaced: true,
		MetadataOnUpdate:         registry.MetadataChange,
		New:                      func() *corev1.PodTemplate { return &corev1.PodTemplate{} },
		NewList:                  func() runtime.Object { return &corev1.PodTemplateList{} },
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
		Default:                  func(t *corev1.PodTemplate) { podspec.Default(&t.Template) },
		PrepareForCreate: func(_ context.Context, t *corev1.PodTemplate) {
			podspec.DropDisabled(&t.Template.Spec)
			t.Generation = 1
		},
		PrepareForUpdate: func(_ context.Context, t, old *corev1.PodTemplate) {
			podspec.DropDisabled(&t.Template.Spec)
			strategy.Generation(t, old, check.Differs(t.Template, old.Template))
		},
		Validate: func(ctx context.Context, t *corev1.PodTemplate) field.ErrorList {
			return podspec.ValidateTemplate(ctx, &t.Template, nil, field.NewPath("template"))
		},
		ValidateUpdate: func(ctx context.Context, t, old *corev1.PodTemplate) field.ErrorList {
			return podspec.ValidateTemplate(ctx, &t.Template, &old.Template, field.NewPath("template"))
		},
		Warnings: func(ctx context.Context, t, old *corev1.PodTemplate) []string {
			var before *corev1.PodTemplateSpec
			if old != nil {
				before = &old.Template
			}
			return podspec.TemplateWarnings(ctx, &t.Template, before, field.NewPath("template"))
		},
		Columns: []registry.Column{
			show.Name(), show.Text("Containers", "Names of each container in the template."),
			show.Text("Images", "Images referenced by each container in the template."),
			show.Text("Pod Labels", "The labels for the pod template."),
		},
		Cells: func(t *corev1.PodTemplate) []any {
			names, images := show.Containers(t.Template.Spec.Containers)
			return []any{t.Name, names, images, formatLabels(t.Template.Labels)}
		},
	}
}

func formatLabels(m map[string]string) string {
	if s := labels.FormatLabels(m); s != "" {
		return s
	}
	return "<none>"
}
