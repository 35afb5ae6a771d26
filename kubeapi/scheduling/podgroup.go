package scheduling

import (
	"context"
	"slices"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

// The hub of workloads and groups is v1alpha3, whose types have validation generated from their markers. They are
// stored in v1beta1.
const beta1 = "scheduling.k8s.io/v1beta1"

func podGroupKind() kind.Kind[*schedulingv1alpha3.PodGroup] {
	type group = *schedulingv1alpha3.PodGroup
	return kind.Kind[group]{
		Hub: schedulingv1alpha3.SchemeGroupVersion.WithKind("PodGroup"), Namespaced: true,
		Representation: kind.Typed[group]{Versions: kind.SameFields[group]("PodGroup", beta1)},
		Names:          kind.Names{Plural: "podgroups"},
		Write: kind.Write[group]{
			Default: func(g group) {
				defaults.Set(&g.Spec.DisruptionMode,
					schedulingv1alpha3.DisruptionMode{Single: &schedulingv1alpha3.SingleDisruptionMode{}})
				defaults.Set(&g.Spec.PreemptionPolicy, schedulingv1alpha3.PreemptLowerPriority)
			},
			Validate: func(ctx context.Context, g group) field.ErrorList { return validatePodGroup(ctx, &g.Spec, nil) },
			ValidateUpdate: func(ctx context.Context, g, old group) field.ErrorList {
				return validatePodGroup(ctx, &g.Spec, &old.Spec)
			},
		},
		Show: kind.Show[group]{
			Columns: []kind.Column{
				show.Name(), show.Text("Policy", show.Doc(schedulingv1alpha3.PodGroupSpec{}, "schedulingPolicy")),
				show.Text("Workload", workloadColumn), show.Text("Status", "Status of the PodGroup"), show.Age(),
			},
			Cells: func(g group, since func(metav1.Time) string) []any {
				return []any{g.Name, policyName(g.Spec.SchedulingPolicy.Gang != nil, g.Spec.SchedulingPolicy.Basic != nil),
					workloadName(g.Spec.WorkloadRef), podGroupState(g.Status.Conditions), since(g.CreationTimestamp)}
			},
		},
		Status: &kind.StatusSubresource[group]{
			Metadata: kind.ClientMetadata,
			ValidateUpdate: func(ctx context.Context, g, old group) field.ErrorList {
				path := field.NewPath("status")
				errs := metavalidation.ValidateConditions(g.Status.Conditions, path.Child("conditions"))
				errs = append(errs, validateClaimStatuses(g, path.Child("resourceClaimStatuses"))...)
				return check.Declared[schedulingv1alpha3.PodGroupStatus]{Rules: schedulingv1alpha3.Validate_PodGroupStatus,
					Path:   path,
					Object: &g.Status, Old: &old.Status, Subresources: []string{"status"}}.Add(ctx, errs)
			},
		},
	}
}

const workloadColumn = "Name of the referenced Workload object"

func policyName(gang, basic bool) string {
	switch {
	case gang:
		return "Gang"
	case basic:
		return "Basic"
	}
	return "<none>"
}

func workloadName(ref *schedulingv1alpha3.WorkloadReference) string {
	if ref == nil {
		return "<none>"
	}
	return ref.WorkloadName
}

// podGroupState is the reason of a disruption, or whether the group was scheduled.
func podGroupState(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, schedulingv1alpha3.DisruptionTarget); c != nil &&
		c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	switch c := meta.FindStatusCondition(conditions, schedulingv1alpha3.PodGroupInitiallyScheduled); {
	case c == nil:
		return "Pending"
	case c.Status == metav1.ConditionTrue:
		return "Scheduled"
	}
	return "Unschedulable"
}

func validatePodGroup(ctx context.Context, s, old *schedulingv1alpha3.PodGroupSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if s.ParentCompositePodGroupName != nil && s.WorkloadRef == nil {
		errs = append(errs, field.Required(path.Child("workloadRef"), "must be set when parentCompositePodGroupName is set"))
	}
	return check.Declared[schedulingv1alpha3.PodGroupSpec]{Rules: schedulingv1alpha3.Validate_PodGroupSpec, Path: path,
		Object: s, Old: old}.Add(ctx, errs)
}

// validateClaimStatuses requires that the claims of the status are those of the spec.
func validateClaimStatuses(g *schedulingv1alpha3.PodGroup, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, s := range g.Status.ResourceClaimStatuses {
		if !slices.ContainsFunc(g.Spec.ResourceClaims,
			func(c schedulingv1alpha3.PodGroupResourceClaim) bool { return c.Name == s.Name }) {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), s.Name,
				"must match the name of an entry in `spec.resourceClaims`"))
		}
	}
	return errs
}
