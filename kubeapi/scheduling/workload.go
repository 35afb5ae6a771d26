package scheduling

import (
	"context"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
)

// gateWorkload serves workloads and pod groups.
const gateWorkload = "GenericWorkload"

func workloadKind() registry.Kind[*schedulingv1beta1.Workload] {
	type workload = *schedulingv1beta1.Workload
	return registry.Kind[workload]{
		Hub: schedulingv1beta1.SchemeGroupVersion.WithKind("Workload"), Namespaced: true,
		Representation: registry.Typed[workload]{Versions: registry.SameFields[workload]("Workload", alpha3)},
		Names:          registry.Names{Plural: "workloads"},
		Write: registry.Write[workload]{
			Validate: func(_ context.Context, w workload) field.ErrorList { return validateWorkload(&w.Spec) },
			ValidateUpdate: func(_ context.Context, w, old workload) field.ErrorList {
				return append(validateWorkload(&w.Spec), validateWorkloadUpdate(&w.Spec, &old.Spec)...)
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

func validateWorkload(s *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if r := s.ControllerRef; r != nil {
		at := path.Child("controllerRef")
		if r.APIGroup != "" {
			errs = append(errs, check.Subdomain(r.APIGroup, at.Child("apiGroup"))...)
		}
		errs = append(errs, requiredName(check.PathSegment, r.Kind, at.Child("kind"))...)
		errs = append(errs, requiredName(check.PathSegment, r.Name, at.Child("name"))...)
	}
	errs = append(errs, oneMember(path, member{"podGroupTemplates", len(s.PodGroupTemplates) > 0},
		member{"compositePodGroupTemplates", len(s.CompositePodGroupTemplates) > 0})...)
	errs = append(errs, validateTemplates(s.PodGroupTemplates, path.Child("podGroupTemplates"))...)
	return append(errs, validateComposites(s.CompositePodGroupTemplates, path.Child("compositePodGroupTemplates"), 2)...)
}

func validateTemplates(templates []schedulingv1beta1.PodGroupTemplate, path *field.Path) field.ErrorList {
	if n := len(templates); n > schedulingv1beta1.WorkloadMaxPodGroupTemplates {
		return field.ErrorList{field.TooMany(path, n, schedulingv1beta1.WorkloadMaxPodGroupTemplates)}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range templates {
		t, at := &templates[i], path.Index(i)
		errs = append(errs, validateTemplateName(t.Name, seen, at)...)
		errs = append(errs, validatePolicy(&t.SchedulingPolicy, at.Child("schedulingPolicy"))...)
		errs = append(errs, validateMembers(&members{
			constraints: t.SchedulingConstraints, claims: t.ResourceClaims, mode: t.DisruptionMode,
			class: t.PriorityClassName, priority: t.Priority, preemption: t.PreemptionPolicy,
		}, at)...)
	}
	return errs
}

// validateComposites validates templates of composite groups, of which depth stand above each other at least.
func validateComposites(templates []schedulingv1beta1.CompositePodGroupTemplate, path *field.Path,
	depth int) field.ErrorList {
	switch n := len(templates); {
	case n == 0:
		return nil
	case n > schedulingv1beta1.WorkloadMaxPodGroupTemplates:
		return field.ErrorList{field.TooMany(path, n, schedulingv1beta1.WorkloadMaxPodGroupTemplates)}
	case depth > schedulingv1beta1.WorkloadMaxTreeDepth:
		return field.ErrorList{field.Forbidden(path, "exceeds the maximum depth of the tree of templates")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range templates {
		t, at := &templates[i], path.Index(i)
		errs = append(errs, validateTemplateName(t.Name, seen, at)...)
		p := &t.SchedulingPolicy
		errs = append(errs, oneMember(at.Child("schedulingPolicy"), member{"basic", p.Basic != nil},
			member{"gang", p.Gang != nil})...)
		if p.Gang != nil {
			errs = append(errs, positive(p.Gang.MinGroupCount, at.Child("schedulingPolicy", "gang", "minGroupCount"))...)
		}
		if c := t.SchedulingConstraints; c != nil {
			errs = append(errs, validateTopology(c.Topology, at.Child("schedulingConstraints", "topology"))...)
		}
		if d := t.DisruptionMode; d != nil {
			errs = append(errs, oneMember(at.Child("disruptionMode"), member{"single", d.Single != nil},
				member{"all", d.All != nil})...)
		}
		errs = append(errs, validatePriority(t.PriorityClassName, t.Priority, t.PreemptionPolicy, at)...)
		if len(t.PodGroupTemplates) == 0 && len(t.CompositePodGroupTemplates) == 0 {
			errs = append(errs, field.Required(at,
				"at least one of podGroupTemplates and compositePodGroupTemplates must be set"))
		}
		errs = append(errs, validateTemplates(t.PodGroupTemplates, at.Child("podGroupTemplates"))...)
		errs = append(errs, validateComposites(t.CompositePodGroupTemplates, at.Child("compositePodGroupTemplates"),
			depth+1)...)
	}
	return errs
}

func validateTemplateName(name string, seen map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if seen[name] {
		errs = append(errs, field.Duplicate(path, name))
	}
	seen[name] = true
	return append(errs, requiredName(check.Label, name, path.Child("name"))...)
}

// validateWorkloadUpdate keeps the templates but the sizes of their gangs.
func validateWorkloadUpdate(s, old *schedulingv1beta1.WorkloadSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := check.Immutable(s.ControllerRef, old.ControllerRef, path.Child("controllerRef"))
	errs = append(errs, check.Immutable(s.CompositePodGroupTemplates, old.CompositePodGroupTemplates,
		path.Child("compositePodGroupTemplates"))...)
	return append(errs, validateTemplatesUpdate(s.PodGroupTemplates, old.PodGroupTemplates,
		path.Child("podGroupTemplates"))...)
}

func validateTemplatesUpdate(templates, old []schedulingv1beta1.PodGroupTemplate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	was := map[string]*schedulingv1beta1.PodGroupTemplate{}
	for i := range old {
		was[old[i].Name] = &old[i]
	}
	for i := range templates {
		t, at := &templates[i], path.Index(i)
		before, ok := was[t.Name]
		if !ok {
			errs = append(errs, field.Forbidden(at, "item may not be added"))
			continue
		}
		delete(was, t.Name)
		errs = append(errs, validatePolicyUpdate(&t.SchedulingPolicy, &before.SchedulingPolicy,
			at.Child("schedulingPolicy"))...)
		rest, restBefore := *t, *before
		rest.SchedulingPolicy, restBefore.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{},
			schedulingv1beta1.PodGroupSchedulingPolicy{}
		errs = append(errs, check.Immutable(rest, restBefore, at)...)
	}
	for range was {
		errs = append(errs, field.Forbidden(path, "item may not be removed"))
	}
	return errs
}
