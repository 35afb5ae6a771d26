package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/workload"
)

// replicationControllerKind declares the ReplicationController; o says what its
// pods may be.
func replicationControllerKind(o podspec.Options) kind.Kind[*corev1.ReplicationController] {
	type rc = *corev1.ReplicationController
	return kind.Kind[rc]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"rc"}, Categories: []string{"all"}},
		Prefix: "controllers",
		Representation: kind.Typed[rc]{MetadataOnUpdate: kind.MetadataChange,
			OnRead: kind.OnRead[rc]{Fields: []string{"metadata.labels"}}}, // which come from the template
		Write: kind.Write[rc]{
			ValidateName:             check.SubdomainName,
			AllowUnconditionalUpdate: kind.Always, CountsGeneration: true,
			Default:  defaultReplicationController,
			Validate: workload.Validate(o, validateRC),
			Warnings: rcWarnings,
		},
		Delete: kind.Delete[rc]{GarbageCollection: kind.OrphanDependents},
		Columns: workload.Columns(
			show.Field("Desired", "spec.replicas"), show.Field("Current", "status.replicas"),
			show.Field("Ready", "status.readyReplicas"), show.Wide(show.Path("spec.selector"))),
		Select: kind.Select[rc]{Fields: kind.Fields[rc]("status.replicas")},
		Status: &kind.Subresource[rc]{Validate: rcStatus},
		Scale:  kind.ScaleOf[rc](),
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
	defaults.Set(&r.Spec.Replicas, 1)
}

// rcWarnings returns warnings about a new object. Those about a change of the spec are of the
// template that was there before, as kube-apiserver has it.
func rcWarnings(_ context.Context, r, old *corev1.ReplicationController) []string {
	template := r.Spec.Template
	if old != nil {
		template = old.Spec.Template
	}
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	warnings := workload.TemplateWarnings(r, old, template, field.NewPath("spec", "template"))
	if old == nil {
		warnings = append(workload.NameWarnings(r.Name), warnings...)
	}
	return warnings
}

func validateRC(o podspec.Options, r, _ *corev1.ReplicationController) field.ErrorList {
	path, s := field.NewPath("spec"), &r.Spec
	errs := check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))
	if len(s.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	errs = append(errs, check.NonNegative(int64(ptr.Deref(s.Replicas, 0)), path.Child("replicas"))...)
	if s.Template == nil {
		return append(errs, field.Required(path.Child("template"), ""))
	}
	t := path.Child("template")
	if len(s.Selector) > 0 {
		errs = append(errs, workload.Selected(labels.SelectorFromSet(s.Selector), s.Template, t)...)
	}
	errs = append(errs, podvalidation.Template(o, s.Template, t)...)
	return append(errs, workload.AlwaysRestarted(s.Template, "ReplicationController", t)...)
}

func rcStatus(_ context.Context, r, _ *corev1.ReplicationController) field.ErrorList {
	s, path := &r.Status, field.NewPath("status")
	errs := workload.Counts(path,
		workload.Count("replicas", s.Replicas), workload.Count("fullyLabeledReplicas", s.FullyLabeledReplicas),
		workload.Count("readyReplicas", s.ReadyReplicas), workload.Count("availableReplicas", s.AvailableReplicas),
		workload.Count("observedGeneration", s.ObservedGeneration))
	const limit = "status.replicas"
	errs = append(errs, workload.NotAbove(s.FullyLabeledReplicas, s.Replicas, path.Child("fullyLabeledReplicas"),
		limit)...)
	errs = append(errs, workload.NotAbove(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), limit)...)
	errs = append(errs, workload.NotAbove(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"), limit)...)
	return append(errs, workload.NotAbove(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"),
		"readyReplicas")...)
}
