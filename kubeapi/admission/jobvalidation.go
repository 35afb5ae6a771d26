package admission

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane/generic/guard/admission"
	"triplane/kubeapi/group"
)

// jobValidation rejects changes of the parallelism of a Job that controls a PodGroup with the gang policy
// (KEP-5547), unless the Job's template specifies a scheduling group.
//
// Options: the gate WorkloadWithJob, off by default. Metrics: none. Order: any.
type jobValidation struct {
	operations
	stores *group.Stores
}

func newJobValidation(d *Dependencies) admission.Interface {
	if !d.enabled("WorkloadWithJob") {
		return jobValidation{}
	}
	return jobValidation{operations{admission.Update}, d.Stores}
}

// Validate implements admission.ValidatingInterface.
func (v jobValidation) Validate(ctx context.Context, a *admission.Attributes) error {
	j, ok := a.Object.(*batchv1.Job)
	old, had := a.OldObject.(*batchv1.Job)
	if !ok || !had || a.Subresource != "" || old.Spec.Template.Spec.SchedulingGroup != nil ||
		ptr.Deref(j.Spec.Parallelism, 1) == ptr.Deref(old.Spec.Parallelism, 1) {
		return nil
	}
	gang, err := v.gangOf(ctx, old)
	if err != nil {
		return err
	}
	if gang != nil {
		return forbidden(a, "cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", gang.Name)
	}
	return nil
}

// gangOf returns the PodGroup with the gang policy that a Job controls; nil if there is none or PodGroups are not
// served.
func (v jobValidation) gangOf(ctx context.Context, j *batchv1.Job) (*schedulingv1beta1.PodGroup, error) {
	podGroups := schema.GroupResource{Group: schedulingv1beta1.GroupName, Resource: "podgroups"}
	if v.stores.Find(podGroups).List == nil {
		return nil, nil
	}
	groups, err := group.List[*schedulingv1beta1.PodGroup](ctx, v.stores, podGroups, j.Namespace, cached())
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Spec.SchedulingPolicy.Gang != nil && metav1.IsControlledBy(g, j) {
			return g, nil
		}
	}
	return nil, nil
}
