package batch

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

func validateJobStatusUpdate(_ context.Context, j, old *batchv1.Job) field.ErrorList {
	path := field.NewPath("status")
	errs := validateJobCounts(&j.Status, path)
	// What no longer fits may stay as it is: the specification may have changed
	// since, and statuses come from controllers of other releases.
	errs = append(errs, newErrors(validateJobState(j, path), validateJobState(old, path))...)
	return append(errs, validateJobProgress(j, old, path)...)
}

// validateJobState validates that the parts of a status, and of the
// specification, fit each other.
func validateJobState(j *batchv1.Job, path *field.Path) field.ErrorList {
	s := &j.Status
	has := func(t batchv1.JobConditionType) bool { return hasCondition(s.Conditions, t) }
	complete, failed := has(batchv1.JobComplete), has(batchv1.JobFailed)
	target, criterion := has(batchv1.JobFailureTarget), has(batchv1.JobSuccessCriteriaMet)
	var errs field.ErrorList
	refuse := func(wrong bool, message string) {
		if wrong {
			errs = append(errs, field.Invalid(path.Child("conditions"), field.OmitValueType{}, message))
		}
	}
	refuse(complete && failed, "cannot set Complete=True and Failed=true conditions")
	refuse(complete && target, "cannot set Complete=True and FailureTarget=true conditions")
	errs = append(errs, validateCompletionTime(s, complete, path.Child("completionTime"))...)
	refuse(failed && !target, "cannot set Failed=True condition without the FailureTarget=true condition")
	refuse(complete && !criterion, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	finished := complete || failed
	if finished {
		errs = append(errs, validateFinishedJob(j, path)...)
	}
	errs = append(errs, validateJobIndexes(j, path)...)
	if finished && ptr.Deref(s.Terminating, 0) > 0 {
		errs = append(errs, field.Invalid(path.Child("terminating"), *s.Terminating,
			"terminating>0 is invalid for finished job"))
	}
	if s.Ready != nil && *s.Ready > s.Active {
		errs = append(errs, field.Invalid(path.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
	refuse(criterion && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
	refuse(criterion && target, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	refuse(complete && !criterion && j.Spec.SuccessPolicy != nil,
		"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	return errs
}

// newErrors returns those errors that were not there before.
func newErrors(errs, before field.ErrorList) field.ErrorList {
	known := map[string]bool{}
	for _, e := range before {
		known[e.Error()] = true
	}
	return slices.DeleteFunc(errs, func(e *field.Error) bool { return known[e.Error()] })
}

func validateJobCounts(s *batchv1.JobStatus, path *field.Path) field.ErrorList {
	errs := check.NonNegative(int64(s.Active), path.Child("active"))
	errs = append(errs, check.NonNegative(int64(s.Succeeded), path.Child("succeeded"))...)
	errs = append(errs, check.NonNegative(int64(s.Failed), path.Child("failed"))...)
	errs = append(errs, check.NonNegativePtr(s.Ready, path.Child("ready"))...)
	errs = append(errs, check.NonNegativePtr(s.Terminating, path.Child("terminating"))...)
	if u := s.UncountedTerminatedPods; u != nil {
		seen := map[types.UID]bool{}
		errs = append(errs, validateUncounted(u.Succeeded, seen, path.Child("uncountedTerminatedPods", "succeeded"))...)
		errs = append(errs, validateUncounted(u.Failed, seen, path.Child("uncountedTerminatedPods", "failed"))...)
	}
	return errs
}

func validateUncounted(uids []types.UID, seen map[types.UID]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, uid := range uids {
		if uid == "" {
			errs = append(errs, field.Invalid(path.Index(i), uid, "must not be empty"))
		} else if seen[uid] {
			errs = append(errs, field.Duplicate(path.Index(i), uid))
		}
		seen[uid] = true
	}
	return errs
}

func validateCompletionTime(s *batchv1.JobStatus, complete bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.CompletionTime != nil && !complete:
		errs = append(errs, field.Invalid(path, s.CompletionTime,
			"cannot set completionTime when there is no Complete=True condition"))
	case complete && s.CompletionTime == nil:
		errs = append(errs, field.Required(path, "completionTime is required for Complete jobs"))
	}
	if s.CompletionTime != nil && s.StartTime != nil && s.CompletionTime.Before(s.StartTime) {
		errs = append(errs, field.Invalid(path, s.CompletionTime, "must be equal to or after `startTime`"))
	}
	return errs
}

// validateFinishedJob validates that a finished job has started and that no pod of it is
// left. One that is suspended and wants no completions finishes without a start.
func validateFinishedJob(j *batchv1.Job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	s := &j.Status
	if s.Active > 0 {
		errs = append(errs, field.Invalid(path.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	if empty := ptr.Deref(j.Spec.Suspend, false) && ptr.Equal(j.Spec.Completions, ptr.To[int32](0)); s.StartTime == nil &&
		!empty {
		errs = append(errs, field.Required(path.Child("startTime"), "startTime is required for finished job"))
	}
	if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
		errs = append(errs, field.Invalid(path.Child("uncountedTerminatedPods"), *u, "must be empty for finished job"))
	}
	return errs
}

// validateJobIndexes validates both lists of indexes of a job with a number of completions,
// whatever the completion mode is. Lists that cannot be read to their end overlap as far as
// they can.
func validateJobIndexes(j *batchv1.Job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	s := &j.Status
	read := func(text string) ([]interval, error) {
		if j.Spec.Completions == nil {
			return nil, nil
		}
		list, _, err := parseIndexes(text, *j.Spec.Completions)
		return list, err
	}
	child := path.Child("completedIndexes")
	completed, err := read(s.CompletedIndexes)
	if err != nil {
		errs = append(errs, field.Invalid(child, s.CompletedIndexes, fmt.Sprintf("error parsing completedIndexes: %s", err)))
	}
	if !indexed(&j.Spec) && s.CompletedIndexes != "" {
		errs = append(errs, field.Invalid(child, s.CompletedIndexes,
			"cannot set non-empty completedIndexes when non-indexed completion mode"))
	}
	if s.FailedIndexes == nil {
		return errs
	}
	child = path.Child("failedIndexes")
	failed, err := read(*s.FailedIndexes)
	if j.Spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(child, *s.FailedIndexes,
			"cannot set non-null failedIndexes when backoffLimitPerIndex is null"))
	} else if err != nil {
		errs = append(errs, field.Invalid(child, *s.FailedIndexes, fmt.Sprintf("error parsing failedIndexes: %s", err)))
	}
	if i, ok := overlap(completed, failed); ok {
		errs = append(errs, field.Invalid(child, *s.FailedIndexes,
			fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", i)))
	}
	return errs
}

// elastic reports whether a job may lose indexes: its completions are scaled with
// its parallelism (KEP-3715).
func elastic(s *batchv1.JobSpec) bool {
	return indexed(s) && ptr.Equal(s.Completions, s.Parallelism)
}

// validateJobProgress refuses a status that goes back.
func validateJobProgress(j, old *batchv1.Job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	s, o := &j.Status, &old.Status
	keeps := func(t batchv1.JobConditionType, name string) {
		if hasCondition(o.Conditions, t) && !hasCondition(s.Conditions, t) {
			errs = append(errs, field.Invalid(path.Child("conditions"), field.OmitValueType{},
				fmt.Sprintf("cannot disable the %s=True condition", name)))
		}
	}
	keeps(batchv1.JobFailed, "terminal Failed")
	keeps(batchv1.JobComplete, "terminal Complete")
	keeps(batchv1.JobFailureTarget, "terminal FailureTarget")
	if s.Failed < o.Failed {
		errs = append(errs, field.Invalid(path.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	if s.Succeeded < o.Succeeded && !elastic(&j.Spec) {
		errs = append(errs, field.Invalid(path.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if o.CompletionTime != nil && s.CompletionTime != nil {
		errs = append(errs, check.Immutable(s.CompletionTime, o.CompletionTime, path.Child("completionTime"))...)
	}
	if o.StartTime != nil && !ptr.Deref(j.Spec.Suspend, false) && !o.StartTime.Equal(s.StartTime) {
		errs = append(errs, field.Invalid(path.Child("startTime"), s.StartTime,
			"field is immutable for unsuspended job once set"))
	}
	keeps(batchv1.JobSuccessCriteriaMet, "SuccessCriteriaMet")
	return errs
}
