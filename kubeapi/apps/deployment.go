package apps

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// deploymentKind declares the Deployment; o says what its pods may be.
func deploymentKind(o podspec.Options) kind.Kind[*appsv1.Deployment] {
	type deployment = *appsv1.Deployment
	return kind.Kind[deployment]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"deploy"}, Categories: []string{"all"}},
		Representation: kind.Typed[deployment]{Former: formerDeployments(),
			MetadataOnUpdate: kind.MetadataChange, Bookmark: func(d deployment) { d.Spec.Replicas = new(int32) }},
		Write: kind.Write[deployment]{
			Default:          defaultDeployment,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Changed: func(d, old deployment) bool {
				return check.Differs(d.Spec, old.Spec) || check.Differs(d.Annotations, old.Annotations)
			},
			Validate:  workload.Validate(o, validateDeployment),
			Immutable: []string{"spec.selector"},
			Warnings:  workload.Warnings[deployment],
		},
		Columns: workload.Columns(
			show.Cell("Ready", "Number of the pod with ready state", deploymentReady),
			show.AsText(show.Field("Up-to-date", "status.updatedReplicas")),
			show.AsText(show.Field("Available", "status.availableReplicas")),
			show.Wide(show.Cell("Selector", ".spec.selector", deploymentSelector))),
		Status: &kind.Subresource[deployment]{Preserves: []string{"metadata.labels"},
			Validate: validateDeploymentStatus},
		Scale: kind.ScaleOf[deployment](),
	}
}

func defaultDeployment(d *appsv1.Deployment) {
	podspec.Default(&d.Spec.Template)
	defaults.Set(&d.Spec.Replicas, 1)
	defaults.Set(&d.Spec.RevisionHistoryLimit, 10)
	defaults.Set(&d.Spec.ProgressDeadlineSeconds, 600)
	s := &d.Spec.Strategy
	if s.Type == "" {
		s.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Type == appsv1.RollingUpdateDeploymentStrategyType {
		defaults.Set(&s.RollingUpdate, appsv1.RollingUpdateDeployment{})
		defaults.Set(&s.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		defaults.Set(&s.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
}

func validateDeployment(o podspec.Options, d, _ *appsv1.Deployment) field.ErrorList {
	s, path := &d.Spec, field.NewPath("spec")
	errs := check.NonNegativePtr(s.Replicas, path.Child("replicas"))
	errs = append(errs, workload.Selector(s.Selector, "deployment", path.Child("selector"))...)
	errs = append(errs, validateReplicatedTemplate(o, s.Selector, &s.Template, path)...)
	errs = append(errs, validateDeploymentStrategy(&s.Strategy, path.Child("strategy"))...)
	errs = append(errs, check.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	errs = append(errs, check.NonNegativePtr(s.RevisionHistoryLimit, path.Child("revisionHistoryLimit"))...)
	if p := s.ProgressDeadlineSeconds; p != nil {
		errs = append(errs, check.NonNegative(int64(*p), path.Child("progressDeadlineSeconds"))...)
		if *p <= s.MinReadySeconds {
			errs = append(errs, field.Invalid(path.Child("progressDeadlineSeconds"), *p, "must be greater than minReadySeconds"))
		}
	}
	return errs
}

// validateReplicatedTemplate validates the template of Deployments and
// ReplicaSets; a message names the ReplicaSet for both.
func validateReplicatedTemplate(o podspec.Options, s *metav1.LabelSelector, t *corev1.PodTemplateSpec,
	path *field.Path) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("selector"), s, "invalid label selector")}
	}
	template := path.Child("template")
	var errs field.ErrorList
	if !selector.Empty() {
		errs = workload.Selected(selector, t, template)
	}
	errs = append(errs, podvalidation.Template(o, t, template)...)
	return append(errs, workload.AlwaysRestarted(t, "ReplicaSet", template)...)
}

func validateDeploymentStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(path.Child("rollingUpdate"), "may not be specified when strategy `type` is '"+
				string(s.Type)+"'")}
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(path.Child("rollingUpdate"), "this should be defaulted and never be nil")}
		}
		return validateRollingUpdate(s.RollingUpdate, path.Child("rollingUpdate"))
	default:
		return field.ErrorList{field.NotSupported(path, *s, []string{string(appsv1.RecreateDeploymentStrategyType),
			string(appsv1.RollingUpdateDeploymentStrategyType)})}
	}
	return nil
}

func validateRollingUpdate(r *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	unavailable, surge := ptr.Deref(r.MaxUnavailable, intstr.IntOrString{}), ptr.Deref(r.MaxSurge, intstr.IntOrString{})
	errs := check.NonNegativeIntOrPercent(unavailable, path.Child("maxUnavailable"))
	errs = append(errs, check.NonNegativeIntOrPercent(surge, path.Child("maxSurge"))...)
	if check.IntOrPercentValue(unavailable) == 0 && check.IntOrPercentValue(surge) == 0 {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, check.AtMost100Percent(unavailable, path.Child("maxUnavailable"))...)
}

func validateDeploymentStatus(_ context.Context, d, old *appsv1.Deployment) field.ErrorList {
	s, path := &d.Status, field.NewPath("status")
	errs := workload.Counts(path, workload.Count("observedGeneration", s.ObservedGeneration),
		workload.Count("replicas", s.Replicas), workload.Count("updatedReplicas", s.UpdatedReplicas),
		workload.Count("readyReplicas", s.ReadyReplicas), workload.Count("availableReplicas", s.AvailableReplicas),
		workload.Count("unavailableReplicas", s.UnavailableReplicas))
	errs = append(errs, check.NonNegativePtr(s.TerminatingReplicas, path.Child("terminatingReplicas"))...)
	errs = append(errs, check.NonNegativePtr(s.CollisionCount, path.Child("collisionCount"))...)
	errs = append(errs, workload.NotAbove(s.UpdatedReplicas, s.Replicas, path.Child("updatedReplicas"),
		"status.replicas")...)
	errs = append(errs, workload.NotAbove(s.ReadyReplicas, s.Replicas, path.Child("readyReplicas"), "status.replicas")...)
	errs = append(errs, workload.NotAbove(s.AvailableReplicas, s.Replicas, path.Child("availableReplicas"),
		"status.replicas")...)
	errs = append(errs, workload.NotAbove(s.AvailableReplicas, s.ReadyReplicas, path.Child("availableReplicas"),
		"readyReplicas")...)
	return append(errs, workload.NotDecremented(s.CollisionCount, old.Status.CollisionCount,
		path.Child("collisionCount"))...)
}

func deploymentReady(d *appsv1.Deployment) string {
	return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 0))
}

func deploymentSelector(d *appsv1.Deployment) string {
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		return s.String()
	}
	return ""
}
