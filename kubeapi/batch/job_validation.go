package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
	"triplane.dev/kubeapi/workload"
)

// Limits that keep the lists of indexes in a status small.
const (
	maxIndexedParallelism        = 100000
	maxLimitedFailures           = 100000
	maxParallelWithoutIndexLimit = 10000
	maxManagedByLength           = 63
	maxRules                     = 20
	maxConditions                = 20
	maxExitCodes                 = 255
	maxSucceededIndexes          = 64 * 1024
)

func indexed(s *batchv1.JobSpec) bool {
	return s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion
}

func validateJob(o podspec.Options, j, old *batchv1.Job) field.ErrorList {
	if old != nil {
		return validateJobUpdate(o, j, old)
	}
	errs := validateGeneratedSelector(j)
	errs = append(errs, validateJobSpec(o, &j.Spec, field.NewPath("spec"))...)
	errs = append(errs, declaredScheduling(&j.Spec, nil, field.NewPath("spec", "scheduling"))...)
	if n := ptr.Deref(j.Spec.Completions, 0); indexed(&j.Spec) && n > 0 {
		if host := fmt.Sprintf("%s-%d", j.Name, n-1); len(validation.IsDNS1123Label(host)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), j.Name,
				"will not able to create pod with invalid DNS label: "+host))
		}
	}
	return errs
}

// validateGeneratedSelector validates the labels and the selector that the server generates for a new Job. Updates
// may change those labels that the selector does not need.
func validateGeneratedSelector(j *batchv1.Job) field.ErrorList {
	if ptr.Deref(j.Spec.ManualSelector, false) || j.Spec.Selector == nil {
		return nil
	}
	var errs field.ErrorList
	if j.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	path := field.NewPath("spec", "template", "metadata", "labels")
	for _, l := range []struct{ label, want string }{
		{legacyControllerUID, string(j.UID)}, {legacyJobName, j.Name},
		{batchv1.ControllerUidLabel, string(j.UID)}, {batchv1.JobNameLabel, j.Name},
	} {
		have := j.Spec.Template.Labels
		if v, ok := have[l.label]; !ok {
			errs = append(errs, field.Required(path.Key(l.label), fmt.Sprintf("must be '%s'", l.want)))
		} else if v != l.want {
			errs = append(errs, field.Invalid(path.Key(l.label), have, fmt.Sprintf("must be '%s'", l.want)))
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil &&
		!s.Matches(labels.Set{batchv1.ControllerUidLabel: string(j.UID)}) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), j.Spec.Selector,
			"`selector` not auto-generated"))
	}
	return errs
}

// validateJobSpec validates the spec of a Job, whose selector is settled.
func validateJobSpec(o podspec.Options, s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := validateJobTemplateSpec(o, s, path)
	if s.Selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else {
		errs = append(errs, metavalidation.ValidateLabelSelector(s.Selector, metavalidation.LabelSelectorValidationOptions{},
			path.Child("selector"))...)
	}
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		errs = append(errs, workload.Selected(selector, &s.Template, path.Child("template"))...)
	}
	return errs
}

// validateJobTemplateSpec validates what the specs of Jobs and of the jobs of a
// CronJob have in common.
func validateJobTemplateSpec(o podspec.Options, s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := check.NonNegativePtr(s.Parallelism, path.Child("parallelism"))
	errs = append(errs, check.NonNegativePtr(s.Completions, path.Child("completions"))...)
	errs = append(errs, check.NonNegativePtr(s.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
	errs = append(errs, check.NonNegativePtr(s.BackoffLimit, path.Child("backoffLimit"))...)
	errs = append(errs, check.NonNegativePtr(s.TTLSecondsAfterFinished, path.Child("ttlSecondsAfterFinished"))...)
	errs = append(errs, check.NonNegativePtr(s.BackoffLimitPerIndex, path.Child("backoffLimitPerIndex"))...)
	if s.MaxFailedIndexes != nil {
		errs = append(errs, check.NonNegativePtr(s.MaxFailedIndexes, path.Child("maxFailedIndexes"))...)
		if s.BackoffLimitPerIndex == nil {
			errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
		}
	}
	if m := s.ManagedBy; m != nil {
		errs = append(errs, validation.IsDomainPrefixedPath(path.Child("managedBy"), *m)...)
		if len(*m) > maxManagedByLength {
			errs = append(errs, field.TooLong(path.Child("managedBy"), "", maxManagedByLength))
		}
	}
	errs = append(errs, validateCompletionMode(s, path)...)
	errs = append(errs, validatePodFailurePolicy(s, path.Child("podFailurePolicy"))...)
	errs = append(errs, validateSuccessPolicy(s, path.Child("successPolicy"))...)
	errs = append(errs, validatePodReplacementPolicy(s, path.Child("podReplacementPolicy"))...)
	errs = append(errs, validateScheduling(s, path.Child("scheduling"))...)
	errs = append(errs, podvalidation.Template(o, &s.Template, path.Child("template"))...)
	return append(errs, validateRestartPolicy(s, path.Child("template", "spec", "restartPolicy"))...)
}

func validateRestartPolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	switch p := s.Template.Spec.RestartPolicy; {
	case p == "" || p == corev1.RestartPolicyAlways:
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure,
			corev1.RestartPolicyNever))}
	case p != corev1.RestartPolicyOnFailure && p != corev1.RestartPolicyNever:
		return field.ErrorList{field.NotSupported(path, p, []corev1.RestartPolicy{corev1.RestartPolicyOnFailure,
			corev1.RestartPolicyNever})}
	case s.PodFailurePolicy != nil && p != corev1.RestartPolicyNever:
		return field.ErrorList{field.Invalid(path, p, fmt.Sprintf("only %q is supported when podFailurePolicy is specified",
			corev1.RestartPolicyNever))}
	}
	return nil
}

// unlessIndexed rejects a number that only Jobs with indexes may have.
func unlessIndexed(n *int32, path *field.Path) field.ErrorList {
	if n == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *n, "requires indexed completion mode")}
}

func validateCompletionMode(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m := s.CompletionMode; m != nil {
		errs = check.OneOf(*m, path.Child("completionMode"), batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
	}
	if !indexed(s) {
		if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
			errs = append(errs, unlessIndexed(s.BackoffLimitPerIndex, path.Child("backoffLimitPerIndex"))...)
			errs = append(errs, unlessIndexed(s.MaxFailedIndexes, path.Child("maxFailedIndexes"))...)
		}
		return errs
	}
	parallelism, failed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	if s.Completions == nil {
		errs = append(errs, field.Required(path.Child("completions"), fmt.Sprintf("when completion mode is %s",
			batchv1.IndexedCompletion)))
	}
	errs = append(errs, atMost(s.Parallelism, maxIndexedParallelism, parallelism, " when completion mode is Indexed")...)
	if s.Completions != nil && s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > *s.Completions {
		errs = append(errs, field.Invalid(failed, *s.MaxFailedIndexes, "must be less than or equal to completions"))
	}
	errs = append(errs, atMost(s.MaxFailedIndexes, maxLimitedFailures, failed, "")...)
	if ptr.Deref(s.Completions, 0) > maxLimitedFailures && s.BackoffLimitPerIndex != nil {
		if s.MaxFailedIndexes == nil {
			errs = append(errs, field.Required(failed, fmt.Sprintf("must be specified when completions is above %d",
				maxLimitedFailures)))
		}
		const why = " when completions are above 100000 and used with backoff limit per index"
		errs = append(errs, atMost(s.Parallelism, maxParallelWithoutIndexLimit, parallelism, why)...)
		errs = append(errs, atMost(s.MaxFailedIndexes, maxParallelWithoutIndexLimit, failed, why)...)
	}
	return errs
}

func atMost(v *int32, limit int32, path *field.Path, why string) field.ErrorList {
	if v == nil || *v <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *v, fmt.Sprintf("must be less than or equal to %d%s", limit, why))}
}

func validatePodReplacementPolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	switch p := s.PodReplacementPolicy; {
	case p == nil:
		return nil
	case s.PodFailurePolicy != nil:
		return check.OneOf(*p, path, batchv1.Failed)
	default:
		return check.OneOf(*p, path, batchv1.Failed, batchv1.TerminatingOrFailed)
	}
}

func validateJobUpdate(opts podspec.Options, j, old *batchv1.Job) field.ErrorList {
	path := field.NewPath("spec")
	s, o := &j.Spec, &old.Spec
	// kube-apiserver validates the spec of a job that changes twice, and reports
	// each fault twice in the causes.
	spec := validateJobSpec(opts, s, path)
	errs := slices.Concat(spec, spec)
	errs = append(errs, validateCompletionsUpdate(s, o, path)...)
	errs = append(errs, check.Immutable(s.Selector, o.Selector, path.Child("selector"))...)
	errs = append(errs, validateJobPodUpdate(opts, j, old, path.Child("template"))...)
	errs = append(errs, check.Immutable(s.CompletionMode, o.CompletionMode, path.Child("completionMode"))...)
	errs = append(errs, check.Immutable(s.PodFailurePolicy, o.PodFailurePolicy, path.Child("podFailurePolicy"))...)
	errs = append(errs, check.Immutable(s.BackoffLimitPerIndex, o.BackoffLimitPerIndex,
		path.Child("backoffLimitPerIndex"))...)
	errs = append(errs, check.Immutable(s.ManagedBy, o.ManagedBy, path.Child("managedBy"))...)
	errs = append(errs, check.Immutable(s.SuccessPolicy, o.SuccessPolicy, path.Child("successPolicy"))...)
	errs = append(errs, validateSchedulingVariant(s.Scheduling, o.Scheduling, path.Child("scheduling"))...)
	return append(errs, declaredScheduling(s, o, path.Child("scheduling"))...)
}

func validateCompletionsUpdate(s, old *batchv1.JobSpec, path *field.Path) field.ErrorList {
	completions := path.Child("completions")
	if !indexed(s) {
		return check.Immutable(s.Completions, old.Completions, completions)
	}
	// An indexed job without completions is refused as such.
	if s.Completions != nil && check.Differs(s.Completions, old.Completions) && !ptr.Equal(s.Completions, s.Parallelism) {
		return field.ErrorList{field.Invalid(completions, s.Completions, fmt.Sprintf("can only be modified in tandem with %s",
			path.Child("parallelism")))}
	}
	return nil
}

// validateJobPodUpdate refuses changes of the template, but for scheduling
// directives and resources of a job that is suspended and has no pods.
func validateJobPodUpdate(o podspec.Options, j, old *batchv1.Job, path *field.Path) field.ErrorList {
	t, before := &j.Spec.Template, &old.Spec.Template
	fresh := old.Status.StartTime == nil
	stopped := ptr.Deref(old.Spec.Suspend, false) &&
		(fresh || hasCondition(old.Status.Conditions, batchv1.JobSuspended)) && old.Status.Active == 0
	place, resize := stopped && (fresh || !o.FixedPlacement), stopped && !o.FixedResources
	if !place && !resize {
		return check.Immutable(t, before, path)
	}
	allowed := before.DeepCopy()
	if place {
		allowNodeAffinity(&allowed.Spec, &t.Spec)
		allowed.Labels, allowed.Annotations = t.Labels, t.Annotations
		allowed.Spec.NodeSelector = t.Spec.NodeSelector
		allowed.Spec.Tolerations = t.Spec.Tolerations
		allowed.Spec.SchedulingGates = t.Spec.SchedulingGates
	}
	if resize {
		allowResources(allowed.Spec.Containers, t.Spec.Containers)
		allowResources(allowed.Spec.InitContainers, t.Spec.InitContainers)
	}
	if o.FixedPlacement && o.FixedResources {
		return check.Immutable(t, allowed, path)
	}
	return check.Immutable(t.Spec, allowed.Spec, path.Child("spec"))
}

func allowNodeAffinity(allowed, now *corev1.PodSpec) {
	if now.Affinity != nil {
		if allowed.Affinity == nil {
			allowed.Affinity = &corev1.Affinity{}
		}
		allowed.Affinity.NodeAffinity = now.Affinity.NodeAffinity
		return
	}
	if a := allowed.Affinity; a != nil && a.PodAffinity == nil && a.PodAntiAffinity == nil {
		allowed.Affinity = nil
	}
}

func allowResources(allowed, now []corev1.Container) {
	for i := range allowed {
		if i < len(now) && allowed[i].Name == now[i].Name {
			allowed[i].Resources = now[i].Resources
		}
	}
}
