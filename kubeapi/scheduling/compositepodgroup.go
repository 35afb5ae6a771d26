package scheduling

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

// compositePodGroupKind declares the kind; preempts says that its objects have a preemption policy
// (PodGroupPreemptionPolicy).
func compositePodGroupKind(preempts bool) kind.Kind[*schedulingv1alpha3.CompositePodGroup] {
	type group = *schedulingv1alpha3.CompositePodGroup
	return kind.Kind[group]{
		Namespaced: true,
		Write: kind.Write[group]{
			Default: func(g group) {
				defaults.Set(&g.Spec.DisruptionMode,
					schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}})
				if preempts {
					defaults.Set(&g.Spec.PreemptionPolicy, schedulingv1alpha3.PreemptLowerPriority)
				}
			},
			Validate: check.Markers[schedulingv1alpha3.CompositePodGroup]("Spec",
				schedulingv1alpha3.Validate_CompositePodGroupSpec, nil),
		},
		Columns: show.Columns(
			show.Cell("Policy", ".spec.schedulingPolicy", compositePolicy),
			show.FieldOr("Workload", "spec.workloadRef.workloadName", show.None, workloadColumn)),
		Status: &kind.Subresource[group]{Metadata: kind.ClientMetadata, NoTable: true,
			Validate: check.Markers("Status",
				schedulingv1alpha3.Validate_CompositePodGroupStatus, kind.Whole(validateCompositeStatus))},
	}
}

func compositePolicy(g *schedulingv1alpha3.CompositePodGroup) string {
	return policyName(g.Spec.SchedulingPolicy.Gang != nil, g.Spec.SchedulingPolicy.Basic != nil)
}

func validateCompositeStatus(g *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return metavalidation.ValidateConditions(g.Status.Conditions, field.NewPath("status", "conditions"))
}
