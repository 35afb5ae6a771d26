package scheduling

import (
	"slices"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

// The hub of workloads and groups is v1alpha3, whose types have validation generated from their markers. They are
// stored in v1beta1.
const beta1 = "v1beta1"

// podGroupKind declares the kind; preempts says that its objects have a preemption policy (PodGroupPreemptionPolicy).
func podGroupKind(preempts bool) kind.Kind[*schedulingv1alpha3.PodGroup] {
	type group = *schedulingv1alpha3.PodGroup
	return kind.Kind[group]{
		Namespaced:     true,
		Representation: kind.Typed[group]{Versions: kind.SameFields[group](beta1)},
		Write: kind.Write[group]{
			Default: func(g group) {
				defaults.Set(&g.Spec.DisruptionMode,
					schedulingv1alpha3.DisruptionMode{Single: &schedulingv1alpha3.SingleDisruptionMode{}})
				if preempts {
					defaults.Set(&g.Spec.PreemptionPolicy, schedulingv1alpha3.PreemptLowerPriority)
				}
			},
			Validate: check.Markers("Spec", schedulingv1alpha3.Validate_PodGroupSpec, kind.Whole(validatePodGroup)),
		},
		Columns: show.Columns(
			show.Cell("Policy", ".spec.schedulingPolicy", podGroupPolicy),
			show.FieldOr("Workload", "spec.workloadRef.workloadName", show.None, workloadColumn),
			show.Cell("Status", "Status of the PodGroup", podGroupState)),
		Status: &kind.Subresource[group]{Metadata: kind.ClientMetadata, NoTable: true,
			Validate: check.Markers("Status",
				schedulingv1alpha3.Validate_PodGroupStatus, kind.Whole(validatePodGroupStatus))},
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

func podGroupState(g *schedulingv1alpha3.PodGroup) string {
	conditions := g.Status.Conditions
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

func podGroupPolicy(g *schedulingv1alpha3.PodGroup) string {
	return policyName(g.Spec.SchedulingPolicy.Gang != nil, g.Spec.SchedulingPolicy.Basic != nil)
}

func validatePodGroup(g *schedulingv1alpha3.PodGroup) field.ErrorList {
	if g.Spec.ParentCompositePodGroupName != nil && g.Spec.WorkloadRef == nil {
		return field.ErrorList{field.Required(field.NewPath("spec", "workloadRef"),
			"must be set when parentCompositePodGroupName is set")}
	}
	return nil
}

func validatePodGroupStatus(g *schedulingv1alpha3.PodGroup) field.ErrorList {
	path := field.NewPath("status")
	errs := metavalidation.ValidateConditions(g.Status.Conditions, path.Child("conditions"))
	return append(errs, validateClaimStatuses(g, path.Child("resourceClaimStatuses"))...)
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
