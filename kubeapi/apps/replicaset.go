package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/workload"
)

// replicaSetKind declares the ReplicaSet; o says what its pods may be.
func replicaSetKind(o podspec.Options) kind.Kind[*appsv1.ReplicaSet] {
	type replicaSet = *appsv1.ReplicaSet
	return kind.Kind[replicaSet]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"rs"}, Categories: []string{"all"}},
		Representation: kind.Typed[replicaSet]{Former: formerReplicaSets(),
			MetadataOnUpdate: kind.MetadataChange, Bookmark: func(r replicaSet) { r.Spec.Replicas = new(int32) }},
		Write: kind.Write[replicaSet]{
			Default: func(r replicaSet) {
				podspec.Default(&r.Spec.Template)
				defaults.Set(&r.Spec.Replicas, 1)
			},
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate:  workload.Validate(o, validateReplicaSet),
			Immutable: []string{"spec.selector"},
			Warnings:  workload.Warnings[replicaSet],
		},
		Columns: workload.Columns(
			show.Field("Desired", "spec.replicas"), show.Field("Current", "status.replicas"),
			show.Field("Ready", "status.readyReplicas"), show.Wide(show.Path("spec.selector"))),
		Status: &kind.Subresource[replicaSet]{Validate: validateReplicaSetStatus},
		Scale:  kind.ScaleOf[replicaSet](),
	}
}

func validateReplicaSet(o podspec.Options, r, _ *appsv1.ReplicaSet) field.ErrorList {
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
