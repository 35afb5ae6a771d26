package admission

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"triplane/generic/admission"
)

// jobValidation refuses to change the parallelism of Jobs whose pods are scheduled together,
// as one gang of that size (KEP-5547): indexed ones with as many completions as pods, whose
// template names no group of its own.
//
// Options: the gate WorkloadWithJob, off by default. Metrics: none. Order: any.
type jobValidation struct{ operations }

func newJobValidation(d *Dependencies) admission.Interface {
	if !d.enabled("WorkloadWithJob") {
		return jobValidation{}
	}
	return jobValidation{operations{admission.Update}}
}

// Validate implements admission.ValidatingInterface.
func (jobValidation) Validate(_ context.Context, a *admission.Attributes) error {
	j, ok := a.Object.(*batchv1.Job)
	old, had := a.OldObject.(*batchv1.Job)
	if !ok || !had || a.Subresource != "" || !gang(&old.Spec) {
		return nil
	}
	if ptr.Deref(j.Spec.Parallelism, 1) != ptr.Deref(old.Spec.Parallelism, 1) {
		return forbidden(a, "spec.parallelism: the parallelism of a gang-scheduled Job is immutable")
	}
	return nil
}

// gang reports whether the pods of a Job are scheduled together.
func gang(s *batchv1.JobSpec) bool {
	pods := ptr.Deref(s.Parallelism, 1)
	return pods > 1 && s.Completions != nil && *s.Completions == pods && s.Template.Spec.SchedulingGroup == nil &&
		s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
}
