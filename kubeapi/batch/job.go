package batch

import (
	"context"
	"fmt"
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podwarnings"
	"triplane.dev/kubeapi/workload"
)

// The labels that tie pods to their job, and the names they had before they got
// a domain.
const (
	legacyJobName       = "job-name"
	legacyControllerUID = "controller-uid"
)

// jobKind declares the Job; o says what its pods may be.
func jobKind(o podspec.Options) kind.Kind[*batchv1.Job] {
	type job = *batchv1.Job
	return kind.Kind[job]{
		Namespaced: true, Names: kind.Names{Categories: []string{"all"}},
		// kube-apiserver generates labels of the template after it has set defaults, and stores the job without its own.
		Representation: kind.Typed[job]{MetadataOnUpdate: kind.MetadataChange, LateDefaults: true,
			OnRead: kind.OnRead[job]{Fields: []string{"metadata.labels"}}},
		Write: kind.Write[job]{
			Default:                  defaultJob,
			AllowUnconditionalUpdate: kind.Always, CountsGeneration: true,
			Prepare:  kind.AtCreation(prepareJob),
			Validate: workload.Validate(o, validateJob),
			Warnings: jobWarnings,
		},
		Delete: kind.Delete[job]{Warnings: warnOfOrphans, GarbageCollection: kind.OrphanDependents},
		Columns: workload.Columns(show.Cell("Status", "Status of the job.", jobState),
			show.Cell("Completions", ".status.succeeded", jobCompletions),
			show.Text("Duration", "Time required to complete the job."),
			show.Wide(show.Path("spec.selector"))),
		Show: kind.Show[job]{Cells: jobDuration},
		Select: kind.Select[job]{
			Fields:  []kind.SelectableField[job]{{Path: "status.successful", Reads: []string{"status.succeeded"}}},
			Unknown: "field label %q not supported for Job",
		},
		Status: &kind.Subresource[job]{Validate: validateJobStatusUpdate},
	}
}

func defaultJob(j *batchv1.Job) {
	s := &j.Spec
	podspec.Default(&s.Template)
	if s.Completions == nil && s.Parallelism == nil {
		s.Completions = ptr.To[int32](1)
	}
	defaults.Set(&s.Parallelism, 1)
	if s.BackoffLimit == nil {
		s.BackoffLimit = ptr.To[int32](6)
		if s.BackoffLimitPerIndex != nil {
			s.BackoffLimit = ptr.To[int32](math.MaxInt32)
		}
	}
	defaults.Set(&s.CompletionMode, batchv1.NonIndexedCompletion)
	defaults.Set(&s.Suspend, false)
	defaults.Set(&s.ManualSelector, false)
	defaultPodFailurePolicy(s.PodFailurePolicy)
	if s.PodReplacementPolicy == nil {
		s.PodReplacementPolicy = ptr.To(batchv1.TerminatingOrFailed)
		if s.PodFailurePolicy != nil {
			s.PodReplacementPolicy = ptr.To(batchv1.Failed)
		}
	}
	if len(j.Labels) == 0 && len(s.Template.Labels) > 0 {
		j.Labels = s.Template.Labels // the labels generated later belong to both
	}
}

func defaultPodFailurePolicy(p *batchv1.PodFailurePolicy) {
	if p == nil {
		return
	}
	for i := range p.Rules {
		for k := range p.Rules[i].OnPodConditions {
			if c := &p.Rules[i].OnPodConditions[k]; c.Status == "" {
				c.Status = corev1.ConditionTrue
			}
		}
	}
}

// generateSelector ties the pods of the job to it by labels that hold its UID,
// unless the client takes care of the selector.
func generateSelector(j *batchv1.Job) {
	if ptr.Deref(j.Spec.ManualSelector, false) {
		return
	}
	t := &j.Spec.Template
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for label, value := range map[string]string{
		legacyJobName: j.Name, batchv1.JobNameLabel: j.Name,
		legacyControllerUID: string(j.UID), batchv1.ControllerUidLabel: string(j.UID),
	} {
		if _, ok := t.Labels[label]; !ok {
			t.Labels[label] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, ok := j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(j.UID)
	}
}

// warnOfOrphans warns clients that say nothing about dependents of what happens to
// them.
func warnOfOrphans(opts *metav1.DeleteOptions) []string {
	if opts.PropagationPolicy != nil || opts.OrphanDependents != nil {
		return nil
	}
	return []string{"child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"}
}

func jobWarnings(_ context.Context, j, old *batchv1.Job) []string {
	path := field.NewPath("spec", "template")
	if old != nil {
		return workload.TemplateWarnings(j, old, &j.Spec.Template, path)
	}
	warnings := workload.NameWarnings(j.Name)
	if indexed(&j.Spec) && ptr.Deref(j.Spec.Completions, 0) > maxLimitedFailures &&
		ptr.Deref(j.Spec.Parallelism, 0) > maxParallelWithoutIndexLimit {
		warnings = append(warnings, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(warnings, podwarnings.Template(&j.Spec.Template, path)...)
}

func jobDuration(j *batchv1.Job, since func(metav1.Time) string) []any {
	switch s := &j.Status; {
	case s.StartTime == nil:
		return []any{""}
	case s.CompletionTime == nil:
		return []any{since(*s.StartTime)}
	default:
		return []any{duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))}
	}
}

func prepareJob(_ context.Context, j *batchv1.Job) {
	labelled := len(j.Spec.Template.Labels) > 0
	generateSelector(j)
	if len(j.Labels) == 0 && labelled {
		j.Labels = maps.Clone(j.Spec.Template.Labels)
	}
}

func jobState(j *batchv1.Job) string {
	for _, c := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if hasCondition(j.Status.Conditions, c) {
			return string(c)
		}
	}
	if j.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget,
		batchv1.JobSuccessCriteriaMet} {
		if hasCondition(j.Status.Conditions, c) {
			return string(c)
		}
	}
	return "Running"
}

func jobCompletions(j *batchv1.Job) string {
	if j.Spec.Completions != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	}
	if p := ptr.Deref(j.Spec.Parallelism, 0); p > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, p)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func hasCondition(cs []batchv1.JobCondition, t batchv1.JobConditionType) bool {
	for i := range cs {
		if cs[i].Type == t && cs[i].Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
