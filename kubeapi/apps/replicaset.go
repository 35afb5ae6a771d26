package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/show"
	"triplane.dev/kubeapi/workload"
)

// replicaSetKind declares the ReplicaSet; o says what its pods may be.
func replicaSetKind(o podspec.Options) kind.Kind[*appsv1.ReplicaSet] {
	return kind.Kind[*appsv1.ReplicaSet]{
		Hub: gvk("ReplicaSet"), Namespaced: true,
		Representation: kind.Typed[*appsv1.ReplicaSet]{Former: formerReplicaSets(),
			MetadataOnUpdate: kind.MetadataChange, Bookmark: func(r *appsv1.ReplicaSet) { r.Spec.Replicas = new(int32) }},
		Names: kind.Names{
			Plural:     "replicasets",
			ShortNames: []string{"rs"}, Categories: []string{"all"},
		},
		Write: kind.Write[*appsv1.ReplicaSet]{
			Default: func(r *appsv1.ReplicaSet) {
				podspec.Default(&r.Spec.Template)
				defaults.Set(&r.Spec.Replicas, 1)
			},
			CountsGeneration: true,
			Validate: func(_ context.Context, r *appsv1.ReplicaSet) field.ErrorList {
				return validateReplicaSetSpec(o, r)
			},
			ValidateUpdate: func(_ context.Context, r, old *appsv1.ReplicaSet) field.ErrorList {
				errs := validateReplicaSetSpec(o.Ratchet(&old.Spec.Template.Spec), r)
				return append(errs, check.Immutable(r.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
			},
			Warnings: func(_ context.Context, r, old *appsv1.ReplicaSet) []string {
				return workload.Warnings(r, old, &r.Spec.Template, templatePath())
			},
			AllowUnconditionalUpdate: true,
		},
		Show: kind.Show[*appsv1.ReplicaSet]{
			Columns: workload.Columns(show.Doc(appsv1.ReplicaSetSpec{}, "selector"),
				show.Name(),
				show.Int("Desired", show.Doc(appsv1.ReplicaSetSpec{}, "replicas")),
				show.Int("Current", show.Doc(appsv1.ReplicaSetStatus{}, "replicas")),
				show.Int("Ready", show.Doc(appsv1.ReplicaSetStatus{}, "readyReplicas")),
				show.Age(),
			),
			Cells: func(r *appsv1.ReplicaSet, since func(metav1.Time) string) []any {
				names, images := show.Containers(r.Spec.Template.Spec.Containers)
				return []any{r.Name, int64(ptr.Deref(r.Spec.Replicas, 0)), int64(r.Status.Replicas), int64(r.Status.ReadyReplicas),
					since(r.CreationTimestamp), names, images, show.Selector(r.Spec.Selector)}
			},
		},
		Status: &kind.StatusSubresource[*appsv1.ReplicaSet]{
			ValidateUpdate: validateReplicaSetStatus,
		},
		Scale: kind.ScaleOf(func(r *appsv1.ReplicaSet) (**int32, int32, *metav1.LabelSelector) {
			return &r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector
		}),
	}
}

func validateReplicaSetSpec(o podspec.Options, r *appsv1.ReplicaSet) field.ErrorList {
	s, path := &r.Spec, field.NewPath("spec")
	errs := check.NonNegativePtr(s.Replicas, path.Child("replicas"))
	errs = append(errs, check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, workload.Selector(s.Selector, "deployment", path.Child("selector"))...)
	return append(errs, validateReplicatedTemplate(o, s.Selector, &s.Template, path)...)
}

func validateReplicaSetStatus(_ context.Context, r, _ *appsv1.ReplicaSet) field.ErrorList {
	s, path := &r.Status, field.NewPath("status")
	errs := workload.Counts(path,
		workload.Count("replicas", s.Replicas), workload.Count("fullyLabeledReplicas", s.FullyLabeledReplicas),
		workload.Count("readyReplicas", s.ReadyReplicas), workload.Count("availableReplicas", s.AvailableReplicas),
		workload.Count("observedGeneration", s.ObservedGeneration))
	errs = append(errs, check.NonNegativePtr(s.TerminatingReplicas, path.Child("terminatingReplicas"))...)
	errs = append(errs, workload.NotAbove(s.FullyLabeledReplicas, s.Replicas, path.Child("fullyLabeledReplicas"),
		"status.replicas")...)
	errs = append(errs, workload.NotAbove(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, workload.NotAbove(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"),
		"status.replicas")...)
	return append(errs, workload.NotAbove(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"),
		"readyReplicas")...)
}
