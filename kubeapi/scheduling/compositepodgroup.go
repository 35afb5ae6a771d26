package scheduling

import (
	"context"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

func compositePodGroupKind() kind.Kind[*schedulingv1alpha3.CompositePodGroup] {
	type group = *schedulingv1alpha3.CompositePodGroup
	return kind.Kind[group]{
		Hub: schedulingv1alpha3.SchemeGroupVersion.WithKind("CompositePodGroup"), Namespaced: true,
		Representation: kind.Typed[group]{},
		Names:          kind.Names{Plural: "compositepodgroups"},
		Write: kind.Write[group]{
			Default: func(g group) {
				defaults.Set(&g.Spec.DisruptionMode,
					schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}})
				defaults.Set(&g.Spec.PreemptionPolicy, schedulingv1alpha3.PreemptLowerPriority)
			},
			Validate: func(ctx context.Context, g group) field.ErrorList { return validateComposite(ctx, &g.Spec, nil) },
			ValidateUpdate: func(ctx context.Context, g, old group) field.ErrorList {
				return validateComposite(ctx, &g.Spec, &old.Spec)
			},
		},
		Show: kind.Show[group]{
			Columns: []kind.Column{
				show.Name(), show.Text("Policy", show.Doc(schedulingv1alpha3.CompositePodGroupSpec{}, "schedulingPolicy")),
				show.Text("Workload", workloadColumn), show.Age(),
			},
			Cells: func(g group, since func(metav1.Time) string) []any {
				return []any{g.Name, policyName(g.Spec.SchedulingPolicy.Gang != nil, g.Spec.SchedulingPolicy.Basic != nil),
					workloadName(g.Spec.WorkloadRef), since(g.CreationTimestamp)}
			},
		},
		Status: &kind.StatusSubresource[group]{
			Metadata: kind.ClientMetadata,
			ValidateUpdate: func(ctx context.Context, g, old group) field.ErrorList {
				path := field.NewPath("status")
				errs := metavalidation.ValidateConditions(g.Status.Conditions, path.Child("conditions"))
				return check.Declared[schedulingv1alpha3.CompositePodGroupStatus]{Rules: schedulingv1alpha3.Validate_CompositePodGroupStatus, Path: path,
					Object: &g.Status, Old: &old.Status, Subresources: []string{"status"}}.Add(ctx, errs)
			},
		},
	}
}

func validateComposite(ctx context.Context, s, old *schedulingv1alpha3.CompositePodGroupSpec) field.ErrorList {
	return check.Declared[schedulingv1alpha3.CompositePodGroupSpec]{Rules: schedulingv1alpha3.Validate_CompositePodGroupSpec, Path: field.NewPath("spec"),
		Object: s, Old: old}.Add(ctx, nil)
}
