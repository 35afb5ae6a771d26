package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

// replicationControllerKind declares replication controllers.
func replicationControllerKind() registry.Kind[*corev1.ReplicationController] {
	type rc = *corev1.ReplicationController
	template := field.NewPath("spec", "template")
	return registry.Kind[rc]{
		Hub: kind("ReplicationController"), Plural: "replicationcontrollers", Singular: "replicationcontroller",
		ShortNames: []string{"rc"}, Categories: []string{"all"}, Namespaced: true, Prefix: "controllers",
		New:                      func() rc { return &corev1.ReplicationController{} },
		NewList:                  func() runtime.Object { return &corev1.ReplicationControllerList{} },
		AllowUnconditionalUpdate: true,
		DefaultGarbageCollection: registry.OrphanDependents,
		Default:                  defaultReplicationController,
		PrepareForCreate: func(_ context.Context, r rc) {
			dropDisabled(r)
			r.Status, r.Generation = corev1.ReplicationControllerStatus{}, 1
		},
		PrepareForUpdate: func(_ context.Context, r, old rc) {
			dropDisabled(r)
			r.Status = old.Status
			strategy.Generation(r, old, check.Differs(r.Spec, old.Spec))
		},
		Validate: func(ctx context.Context, r rc) field.ErrorList { return validateRC(ctx, r, nil) },
		ValidateUpdate: func(ctx context.Context, r, old rc) field.ErrorList {
			return validateRC(ctx, r, old)
		},
		Warnings: func(ctx context.Context, r, old rc) []string {
			w := check.DependentNameWarnings(r.Name)
			if r.Spec.Template == nil {
				return w
			}
			var before *corev1.PodTemplateSpec
			if old != nil {
				w, before = nil, old.Spec.Template
			}
			return append(w, podspec.TemplateWarnings(ctx, r.Spec.Template, before, template)...)
		},
		ResetFields: strategy.Reset(v1, "status"),
		Status: &registry.StatusSubresource[rc]{
			PrepareForUpdate: func(_ context.Context, r, old rc) { r.Spec = old.Spec },
			ValidateUpdate:   func(_ context.Context, r, _ rc) field.ErrorList { return rcStatus(&r.Status) },
			ResetFields:      strategy.Reset(v1, "spec"),
		},
		Scale: &registry.ScaleSubresource[rc]{
			Get: func(r rc) (*registry.Scale, error) {
				return &registry.Scale{
					Replicas: show.Deref(r.Spec.Replicas), StatusReplicas: r.Status.Replicas,
					Selector: labels.SelectorFromSet(r.Spec.Selector).String(),
				}, nil
			},
			Set: func(r rc, n int32) { r.Spec.Replicas = &n },
		},
		Columns: []registry.Column{
			show.Name(), show.Int("Desired", show.Doc(corev1.ReplicationControllerSpec{}, "replicas")),
			show.Int("Current", show.Doc(corev1.ReplicationControllerStatus{}, "replicas")),
			show.Int("Ready", show.Doc(corev1.ReplicationControllerStatus{}, "readyReplicas")), show.Age(),
			show.Wide(show.Text("Containers", "Names of each container in the template.")),
			show.Wide(show.Text("Images", "Images referenced by each container in the template.")),
			show.Wide(show.Text("Selector", show.Doc(corev1.ReplicationControllerSpec{}, "selector"))),
		},
		Cells: func(r rc) []any {
			names, images := "", ""
			if r.Spec.Template != nil {
				names, images = show.Containers(r.Spec.Template.Spec.Containers)
			}
			return []any{
				r.Name, int64(show.Deref(r.Spec.Replicas)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
				show.Since(r.CreationTimestamp), names, images, formatLabels(r.Spec.Selector),
			}
		},
		Fields: []registry.SelectableField[rc]{
			{Path: "status.replicas", Get: func(r rc) string { return itoa(int64(r.Status.Replicas)) }},
		},
	}
}

func defaultReplicationController(r *corev1.ReplicationController) {
	if t := r.Spec.Template; t != nil {
		if len(t.Labels) > 0 {
			if len(r.Spec.Selector) == 0 {
				r.Spec.Selector = t.Labels
			}
			if len(r.Labels) == 0 {
				r.Labels = t.Labels
			}
		}
		podspec.Default(t)
	}
	if r.Spec.Replicas == nil {
		r.Spec.Replicas = ptr(int32(1))
	}
}

func validateRC(ctx context.Context, r, old *corev1.ReplicationController) field.ErrorList {
	path, s := field.NewPath("spec"), &r.Spec
	errs := check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))
	if len(s.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	errs = append(errs, check.NonNegative(int64(show.Deref(s.Replicas)), path.Child("replicas"))...)
	if s.Template == nil {
		return append(errs, field.Required(path.Child("template"), ""))
	}
	t := path.Child("template")
	if len(s.Selector) > 0 && !labels.SelectorFromSet(s.Selector).Matches(labels.Set(s.Template.Labels)) {
		errs = append(errs, field.Invalid(t.Child("metadata", "labels"), s.Template.Labels, "`selector` does not match template `labels`"))
	}
	var before *corev1.PodTemplateSpec
	if old != nil {
		before = old.Spec.Template
	}
	errs = append(errs, podspec.ValidateTemplate(ctx, s.Template, before, t)...)
	if s.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(t.Child("spec", "restartPolicy"), s.Template.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if s.Template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(t.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicationController is not Supported"))
	}
	return errs
}

func rcStatus(s *corev1.ReplicationControllerStatus) field.ErrorList {
	path := field.NewPath("status")
	var errs field.ErrorList
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"replicas", int64(s.Replicas)}, {"fullyLabeledReplicas", int64(s.FullyLabeledReplicas)},
		{"readyReplicas", int64(s.ReadyReplicas)}, {"availableReplicas", int64(s.AvailableReplicas)},
		{"observedGeneration", s.ObservedGeneration},
	} {
		errs = append(errs, validation.ValidateNonnegativeField(f.value, path.Child(f.name))...)
	}
	const most = "cannot be greater than status.replicas"
	if s.FullyLabeledReplicas > s.Replicas {
		errs = append(errs, field.Invalid(path.Child("fullyLabeledReplicas"), s.FullyLabeledReplicas, most))
	}
	if s.ReadyReplicas > s.Replicas {
		errs = append(errs, field.Invalid(path.Child("readyReplicas"), s.ReadyReplicas, most))
	}
	if s.AvailableReplicas > s.Replicas {
		errs = append(errs, field.Invalid(path.Child("availableReplicas"), s.AvailableReplicas, most))
	}
	if s.AvailableReplicas > s.ReadyReplicas {
		errs = append(errs, field.Invalid(path.Child("availableReplicas"), s.AvailableReplicas, "cannot be greater than readyReplicas"))
	}
	return errs
}

func dropDisabled(r *corev1.ReplicationController) {
	if r.Spec.Template != nil {
		podspec.DropDisabled(&r.Spec.Template.Spec)
	}
}
