package admission

import (
	"context"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/guard/admission"
	"triplane/kubeapi/group"
)

// podGroupWorkload rejects pod groups whose workload does not exist, is being deleted, or does not have the
// referenced template.
//
// Options: the gate GenericWorkload, off by default. Metrics: none. Order: any.
type podGroupWorkload struct {
	operations
	stores *group.Stores
}

func newPodGroupWorkload(d *Dependencies) admission.Interface {
	if !d.enabled(gateWorkloads) {
		return &podGroupWorkload{}
	}
	return &podGroupWorkload{operations{admission.Create}, d.Stores}
}

// Validate implements admission.ValidatingInterface.
func (p *podGroupWorkload) Validate(ctx context.Context, a *admission.Attributes) error {
	g, ok := a.Object.(*schedulingv1beta1.PodGroup)
	if !ok || a.Subresource != "" || g.Spec.WorkloadRef == nil {
		return nil
	}
	ref := g.Spec.WorkloadRef
	workloads := schema.GroupResource{Group: schedulingv1beta1.GroupName, Resource: "workloads"}
	w, err := group.GetNew[*schedulingv1beta1.Workload](ctx, p.stores, workloads, a.Namespace, ref.WorkloadName)
	switch {
	case apierrors.IsNotFound(err):
		return forbidden(a, "workload %q does not exist in namespace %q", ref.WorkloadName, a.Namespace)
	case err != nil:
		return apierrors.NewInternalError(err)
	case w.DeletionTimestamp != nil:
		return forbidden(a, "workload %q is being deleted", ref.WorkloadName)
	}
	if !slices.ContainsFunc(w.Spec.PodGroupTemplates,
		func(t schedulingv1beta1.PodGroupTemplate) bool { return t.Name == ref.TemplateName }) {
		return forbidden(a, "workload %q has no pod group template %q", ref.WorkloadName, ref.TemplateName)
	}
	return nil
}
