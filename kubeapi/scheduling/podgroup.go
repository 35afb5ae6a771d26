package scheduling

import (
	"context"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/defaults"
	"triplane/kubeapi/show"
)

const (
	maxConstraints = 1
)

// podGroupKind declares pod groups; preemption says that they have a disruption mode.
func podGroupKind(preemption bool) registry.Kind[*schedulingv1alpha2.PodGroup] {
	type group = *schedulingv1alpha2.PodGroup
	gv := schedulingv1alpha2.SchemeGroupVersion
	return registry.Kind[group]{
		Hub: gv.WithKind("PodGroup"), Namespaced: true,
		Names: registry.Names{Plural: "podgroups"},
		Write: registry.Write[group]{
			Default: func(g group) {
				if preemption {
					defaults.Set(&g.Spec.DisruptionMode, schedulingv1alpha2.DisruptionModePod)
				}
			},
			Validate: func(_ context.Context, g group) field.ErrorList { return validatePodGroup(&g.Spec) },
			ValidateUpdate: func(_ context.Context, g, old group) field.ErrorList {
				return check.Immutable(g.Spec, old.Spec, field.NewPath("spec"))
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

func validatePodGroup(s *schedulingv1alpha2.PodGroupSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePolicy(&s.SchedulingPolicy, path.Child("schedulingPolicy"))
	if r := s.PodGroupTemplateRef; r != nil {
		at := path.Child("podGroupTemplateRef")
		if w := r.Workload; w == nil {
			errs = append(errs, field.Required(at.Child("workload"), ""))
		} else {
			errs = append(errs, check.Subdomain(w.WorkloadName, at.Child("workload", "workloadName"))...)
			errs = append(errs, check.Label(w.PodGroupTemplateName, at.Child("workload", "podGroupTemplateName"))...)
		}
	}
	return append(errs, validateGroup(s.SchedulingConstraints, s.ResourceClaims, s.DisruptionMode, s.PriorityClassName,
		s.Priority, path)...)
}

func validatePolicy(p *schedulingv1alpha2.PodGroupSchedulingPolicy, path *field.Path) field.ErrorList {
	switch {
	case p.Basic == nil && p.Gang == nil:
		return field.ErrorList{field.Invalid(path, "", "must specify one of: `basic`, `gang`")}
	case p.Basic != nil && p.Gang != nil:
		return field.ErrorList{field.Invalid(path, "{basic, gang}", "must specify exactly one of: `basic`, `gang`")}
	case p.Gang != nil && p.Gang.MinCount < 1:
		return field.ErrorList{field.Invalid(path.Child("gang", "minCount"), p.Gang.MinCount,
			"must be greater than or equal to 1")}
	}
	return nil
}

// validateGroup validates what a template and a group have in common.
func validateGroup(c *schedulingv1alpha2.PodGroupSchedulingConstraints,
	claims []schedulingv1alpha2.PodGroupResourceClaim,
	mode *schedulingv1alpha2.DisruptionMode, class string, priority *int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c != nil {
		topology := path.Child("schedulingConstraints", "topology")
		if n := len(c.Topology); n > maxConstraints {
			errs = append(errs, field.TooMany(topology, n, maxConstraints))
		}
		for i, t := range c.Topology {
			errs = append(errs, check.QualifiedName(t.Key, topology.Index(i).Child("key"))...)
		}
	}
	errs = append(errs, validateClaims(claims, path.Child("resourceClaims"))...)
	if mode != nil {
		errs = append(errs, check.OneOf(*mode, path.Child("disruptionMode"), schedulingv1alpha2.DisruptionModePod,
			schedulingv1alpha2.DisruptionModePodGroup)...)
	}
	if class != "" {
		errs = append(errs, check.Subdomain(class, path.Child("priorityClassName"))...)
	}
	if priority != nil && *priority > maxUserPriority {
		errs = append(errs, field.Invalid(path.Child("priority"), *priority, "must be less than or equal to 1000000000"))
	}
	return errs
}

func validateClaims(claims []schedulingv1alpha2.PodGroupResourceClaim, path *field.Path) field.ErrorList {
	if n := len(claims); n > schedulingv1alpha2.MaxPodGroupResourceClaims {
		return field.ErrorList{field.TooMany(path, n, schedulingv1alpha2.MaxPodGroupResourceClaims)}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, c := range claims {
		at := path.Index(i)
		if seen[c.Name] {
			errs = append(errs, field.Duplicate(at, c.Name))
		}
		seen[c.Name] = true
		errs = append(errs, check.Label(c.Name, at.Child("name"))...)
		if (c.ResourceClaimName == nil) == (c.ResourceClaimTemplateName == nil) {
			errs = append(errs, field.Invalid(at, "",
				"must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		for _, f := range []struct {
			name  string
			value *string
		}{{"resourceClaimName", c.ResourceClaimName}, {"resourceClaimTemplateName", c.ResourceClaimTemplateName}} {
			if f.value != nil {
				errs = append(errs, check.Subdomain(*f.value, at.Child(f.name))...)
			}
		}
	}
	return errs
}
