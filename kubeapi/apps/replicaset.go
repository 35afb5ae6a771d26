package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

func replicaSetKind() registry.Kind[*appsv1.ReplicaSet] {
	return registry.Kind[*appsv1.ReplicaSet]{
		Hub: kind("ReplicaSet"), Plural: "replicasets", Singular: "replicaset",
		ShortNames: []string{"rs"}, Categories: []string{"all"}, Namespaced: true,
		New:      func() *appsv1.ReplicaSet { return &appsv1.ReplicaSet{} },
		Bookmark: func(r *appsv1.ReplicaSet) { r.Spec.Replicas = new(int32) },
		NewList:  func() runtime.Object { return &appsv1.ReplicaSetList{} },
		Default: func(r *appsv1.ReplicaSet) {
			podspec.Default(&r.Spec.Template)
			setDefault(&r.Spec.Replicas, 1)
		},
		PrepareForCreate: func(_ context.Context, r *appsv1.ReplicaSet) {
			podspec.DropDisabled(&r.Spec.Template.Spec)
			r.Status = appsv1.ReplicaSetStatus{}
			r.Generation = 1
		},
		PrepareForUpdate: func(_ context.Context, r, old *appsv1.ReplicaSet) {
			podspec.DropDisabled(&r.Spec.Template.Spec)
			r.Status = old.Status
			strategy.Generation(r, old, check.Differs(r.Spec, old.Spec))
		},
		Validate: func(ctx context.Context, r *appsv1.ReplicaSet) field.ErrorList {
			return validateReplicaSetSpec(ctx, r, nil)
		},
		ValidateUpdate: func(ctx context.Context, r, old *appsv1.ReplicaSet) field.ErrorList {
			errs := validateReplicaSetSpec(ctx, r, old)
			return append(errs, check.Immutable(r.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
		},
		Warnings: func(ctx context.Context, r, old *appsv1.ReplicaSet) []string {
			if old == nil {
				return append(check.DependentNameWarnings(r.Name), podspec.TemplateWarnings(ctx, &r.Spec.Template, nil, templatePath())...)
			}
			if r.Generation == old.Generation {
				return nil
			}
			return podspec.TemplateWarnings(ctx, &r.Spec.Template, &old.Spec.Template, templatePath())
		},
		AllowUnconditionalUpdate: true,
		Columns: append(append([]registry.Column{
			show.Name(),
			show.Int("Desired", show.Doc(appsv1.ReplicaSetSpec{}, "replicas")),
			show.Int("Current", show.Doc(appsv1.ReplicaSetStatus{}, "replicas")),
			show.Int("Ready", show.Doc(appsv1.ReplicaSetStatus{}, "readyReplicas")),
			show.Age(),
		}, containerColumns()...), selectorColumn(show.Doc(appsv1.ReplicaSetSpec{}, "selector"))),
		Cells: func(r *appsv1.ReplicaSet) []any {
			names, images := show.Containers(r.Spec.Template.Spec.Containers)
			return []any{r.Name, int64(ptr.Deref(r.Spec.Replicas, 0)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
				show.Since(r.CreationTimestamp), names, images, show.Selector(r.Spec.Selector)}
		},
		ResetFields: strategy.Reset(v1, "status"),
		Status: &registry.StatusSubresource[*appsv1.ReplicaSet]{
			PrepareForUpdate: func(_ context.Context, r, old *appsv1.ReplicaSet) { r.Spec = old.Spec },
			ValidateUpdate:   validateReplicaSetStatus,
			ResetFields:      strategy.Reset(v1, "spec"),
		},
		Scale: &registry.ScaleSubresource[*appsv1.ReplicaSet]{
			Get: func(r *appsv1.ReplicaSet) (*registry.Scale, error) {
				s, err := scaleSelector(r.Spec.Selector)
				return &registry.Scale{Replicas: ptr.Deref(r.Spec.Replicas, 0), StatusReplicas: r.Status.Replicas, Selector: s}, err
			},
			Set: func(r *appsv1.ReplicaSet, n int32) { r.Spec.Replicas = &n },
		},
	}
}

func validateReplicaSetSpec(ctx context.Context, r, old *appsv1.ReplicaSet) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	errs := check.NonNegativePtr(s.Replicas, path.Child("replicas"))
	errs = append(errs, check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, validateSelector(s.Selector, "replicaset", path)...)
	oldTemplate := before(old, func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template })
	return append(errs, validateReplicatedTemplate(ctx, s.Selector, &s.Template, oldTemplate, "ReplicaSet", path)...)
}

func validateReplicaSetStatus(_ context.Context, r, _ *appsv1.ReplicaSet) field.ErrorList {
	s, path := &r.Status, field.NewPath("status")
	errs := nonNegativeCounts(path,
		count{"replicas", int64(s.Replicas)}, count{"fullyLabeledReplicas", int64(s.FullyLabeledReplicas)},
		count{"readyReplicas", int64(s.ReadyReplicas)}, count{"availableReplicas", int64(s.AvailableReplicas)},
		count{"observedGeneration", s.ObservedGeneration})
	errs = append(errs, check.NonNegativePtr(s.TerminatingReplicas, path.Child("terminatingReplicas"))...)
	errs = append(errs, notAbove(s.FullyLabeledReplicas, s.Replicas, path.Child("fullyLabeledReplicas"), "status.replicas")...)
	errs = append(errs, notAbove(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, notAbove(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), "status.replicas")...)
	return append(errs, notAbove(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"), "readyReplicas")...)
}
