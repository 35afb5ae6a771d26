package scheduling

import (
	"context"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/defaults"
	"triplane/kubeapi/show"
)

const (
	alpha3         = "scheduling.k8s.io/v1alpha3"
	maxConstraints = 1
	// maxGroupClaims is how many resource claims a group has at most.
	maxGroupClaims = 4
)

func podGroupKind() registry.Kind[*schedulingv1beta1.PodGroup] {
	type group = *schedulingv1beta1.PodGroup
	gv := schedulingv1beta1.SchemeGroupVersion
	return registry.Kind[group]{
		Hub: gv.WithKind("PodGroup"), Namespaced: true,
		Representation: registry.Typed[group]{Versions: registry.SameFields[group]("PodGroup", alpha3)},
		Names:          registry.Names{Plural: "podgroups"},
		Write: registry.Write[group]{
			Default: func(g group) {
				defaults.Set(&g.Spec.DisruptionMode,
					schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}})
			},
			Validate: func(_ context.Context, g group) field.ErrorList { return validatePodGroup(&g.Spec) },
			ValidateUpdate: func(_ context.Context, g, old group) field.ErrorList {
				return append(validatePodGroup(&g.Spec), validatePodGroupUpdate(&g.Spec, &old.Spec)...)
			},
		},
		Show: registry.Show[group]{
			Columns: []registry.Column{show.Name(), show.Age()},
			Cells:   func(g group, since func(metav1.Time) string) []any { return []any{g.Name, since(g.CreationTimestamp)} },
		},
		Status: &registry.StatusSubresource[group]{
			ValidateUpdate: func(_ context.Context, g, _ group) field.ErrorList {
				return metavalidation.ValidateConditions(g.Status.Conditions, field.NewPath("status", "conditions"))
			},
		},
	}
}

func validatePodGroup(s *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePolicy(&s.SchedulingPolicy, path.Child("schedulingPolicy"))
	if r := s.WorkloadRef; r != nil {
		at := path.Child("workloadRef")
		errs = append(errs, requiredName(check.Subdomain, r.WorkloadName, at.Child("workloadName"))...)
		errs = append(errs, requiredName(check.Label, r.TemplateName, at.Child("templateName"))...)
	}
	if p := s.ParentCompositePodGroupName; p != nil {
		at := path.Child("parentCompositePodGroupName")
		errs = append(errs, check.Subdomain(*p, at)...)
		if s.WorkloadRef == nil {
			errs = append(errs, field.Required(path.Child("workloadRef"),
				"must be specified when `parentCompositePodGroupName` is specified"))
		}
	}
	return append(errs, validateMembers(&members{
		constraints: s.SchedulingConstraints, claims: s.ResourceClaims, mode: s.DisruptionMode,
		class: s.PriorityClassName, priority: s.Priority, preemption: s.PreemptionPolicy,
	}, path)...)
}

// validatePodGroupUpdate keeps all of a group but the size of its gang.
func validatePodGroupUpdate(s, old *schedulingv1beta1.PodGroupSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePolicyUpdate(&s.SchedulingPolicy, &old.SchedulingPolicy, path.Child("schedulingPolicy"))
	for _, f := range []struct {
		name     string
		now, was any
	}{
		{"parentCompositePodGroupName", s.ParentCompositePodGroupName, old.ParentCompositePodGroupName},
		{"workloadRef", s.WorkloadRef, old.WorkloadRef},
		{"schedulingConstraints", s.SchedulingConstraints, old.SchedulingConstraints},
		{"resourceClaims", s.ResourceClaims, old.ResourceClaims},
		{"disruptionMode", s.DisruptionMode, old.DisruptionMode},
		{"priorityClassName", s.PriorityClassName, old.PriorityClassName},
		{"priority", s.Priority, old.Priority},
		{"preemptionPolicy", s.PreemptionPolicy, old.PreemptionPolicy},
	} {
		errs = append(errs, check.Immutable(f.now, f.was, path.Child(f.name))...)
	}
	return errs
}
