package scheduling

import (
	"context"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
)

// gateWorkload serves workloads and pod groups.
const gateWorkload = "GenericWorkload"

func workloadKind() registry.Kind[*schedulingv1alpha2.Workload] {
	type workload = *schedulingv1alpha2.Workload
	return registry.Kind[workload]{
		Hub: schedulingv1alpha2.SchemeGroupVersion.WithKind("Workload"), Namespaced: true,
		Names: registry.Names{Plural: "workloads"},
		Write: registry.Write[workload]{
			Validate: func(_ context.Context, w workload) field.ErrorList { return validateWorkload(&w.Spec) },
			ValidateUpdate: func(_ context.Context, w, old workload) field.ErrorList {
				path := field.NewPath("spec")
				return append(check.Immutable(w.Spec.ControllerRef, old.Spec.ControllerRef, path.Child("controllerRef")),
					check.Immutable(w.Spec.PodGroupTemplates, old.Spec.PodGroupTemplates, path.Child("podGroupTemplates"))...)
			},
		},
		Show: registry.Show[workload]{
			Columns: []registry.Column{show.Name(), show.Age()},
			Cells: func(w workload, since func(metav1.Time) string) []any {
				return []any{w.Name, since(w.CreationTimestamp)}
			},
		},
	}
}

func validateWorkload(s *schedulingv1alpha2.WorkloadSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if r := s.ControllerRef; r != nil {
		at := path.Child("controllerRef")
		if r.APIGroup != "" {
			errs = append(errs, check.Subdomain(r.APIGroup, at.Child("apiGroup"))...)
		}
		errs = append(errs, check.PathSegment(r.Kind, at.Child("kind"))...)
		errs = append(errs, check.PathSegment(r.Name, at.Child("name"))...)
	}
	templates := path.Child("podGroupTemplates")
	if len(s.PodGroupTemplates) == 0 {
		errs = append(errs, field.Required(templates, ""))
	}
	if n := len(s.PodGroupTemplates); n > schedulingv1alpha2.WorkloadMaxPodGroupTemplates {
		return append(errs, field.TooMany(templates, n, schedulingv1alpha2.WorkloadMaxPodGroupTemplates))
	}
	seen := map[string]bool{}
	for i := range s.PodGroupTemplates {
		t, at := &s.PodGroupTemplates[i], templates.Index(i)
		if seen[t.Name] {
			errs = append(errs, field.Duplicate(at, t.Name))
		}
		seen[t.Name] = true
		errs = append(errs, check.Label(t.Name, at.Child("name"))...)
		errs = append(errs, validatePolicy(&t.SchedulingPolicy, at.Child("schedulingPolicy"))...)
		errs = append(errs, validateGroup(t.SchedulingConstraints, t.ResourceClaims, t.DisruptionMode, t.PriorityClassName,
			t.Priority, at)...)
	}
	return errs
}
