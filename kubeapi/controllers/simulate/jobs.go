package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const jobAccount = "job-controller"

func jobKind() schema.GroupVersionKind { return batchv1.SchemeGroupVersion.WithKind("Job") }

type jobs struct {
	*base
	client batchv1client.JobsGetter
}

// NewJobs returns the controller of Jobs.
func NewJobs(e *control.Env) (worker.Runner, error) {
	client, err := batchv1client.NewForConfig(e.As(jobAccount))
	if err != nil {
		return nil, err
	}
	c := &jobs{client: client}
	c.base, err = newBase(e, jobAccount, jobKind(), group.Jobs(e.Stores).Resource(), c.sync)
	if err != nil {
		return nil, err
	}
	return c.queue, nil
}

// runs are the pods of a Job.
type runs struct {
	*batchv1.Job
	active, succeeded, failed []*corev1.Pod
	indexes                   []int // succeeded ones of an indexed Job, sorted
}

func (c *jobs) sync(ctx context.Context, key control.Key) error {
	job, err := group.Jobs(c.env.Stores).GetConsistent(control.Reading(ctx), key.Namespace, key.Name)
	if err != nil {
		return ignoreNotFound(err)
	}
	if job.DeletionTimestamp != nil || finished(job) ||
		job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName {
		return nil
	}
	pods, err := c.podsOf(ctx, job)
	if err != nil {
		return err
	}
	r := sortRuns(job, pods)
	next := job.DeepCopy()
	failure := c.advance(ctx, r, next)
	return errors.Join(failure, c.report(ctx, job, next))
}

// finished reports whether a Job is complete or has failed.
func finished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

func sortRuns(job *batchv1.Job, pods []*corev1.Pod) *runs {
	r := &runs{Job: job}
	for _, p := range pods {
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			r.succeeded = append(r.succeeded, p)
			if n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
				r.indexes = append(r.indexes, n)
			}
		case p.Status.Phase == corev1.PodFailed:
			r.failed = append(r.failed, p)
		case p.DeletionTimestamp == nil:
			r.active = append(r.active, p)
		}
	}
	slices.Sort(r.indexes)
	r.indexes = slices.Compact(r.indexes)
	return r
}

func (r *runs) indexed() bool {
	return r.Spec.CompletionMode != nil && *r.Spec.CompletionMode == batchv1.IndexedCompletion
}

// done returns the number of completions so far.
func (r *runs) done() int32 {
	if r.indexed() {
		return int32(len(r.indexes))
	}
	return max(int32(len(r.succeeded)), r.Status.Succeeded)
}

// advance creates and deletes pods, and sets the status of next.
func (c *jobs) advance(ctx context.Context, r *runs, next *batchv1.Job) error {
	now, s := metav1.Now(), &next.Status
	failed := max(int32(len(r.failed)), r.Status.Failed)
	suspended := r.Spec.Suspend != nil && *r.Spec.Suspend
	if s.StartTime == nil && !suspended {
		s.StartTime = &now
	}
	setCounts(r, s, failed)
	if reason := r.failure(failed, now); reason != "" {
		return c.finish(ctx, r, s, verdict{batchv1.JobFailureTarget, batchv1.JobFailed, reason, now})
	}
	if r.complete() {
		return c.finish(ctx, r, s, verdict{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete,
			batchv1.JobReasonCompletionsReached, now})
	}
	if suspended {
		setJobCondition(s, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", now)
		s.StartTime = nil
		return c.stop(ctx, r, s)
	}
	if slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended }) {
		setJobCondition(s, batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", now)
	}
	if r.Spec.ActiveDeadlineSeconds != nil {
		left := time.Until(s.StartTime.Add(time.Duration(*r.Spec.ActiveDeadlineSeconds) * time.Second))
		c.queue.AddAfter(control.Key{Namespace: r.Namespace, Name: r.Name}, max(left, time.Millisecond))
	}
	return c.scale(ctx, r, s)
}

func setCounts(r *runs, s *batchv1.JobStatus, failed int32) {
	n := count(r.active, 0)
	s.Active, s.Ready, s.Terminating = int32(len(r.active)), &n.ready, new(int32)
	s.Succeeded, s.Failed = r.done(), failed
	s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	if r.indexed() {
		s.CompletedIndexes = ranges(r.indexes)
	}
}

// failure returns why a Job has failed; "" if it has not.
func (r *runs) failure(failed int32, now metav1.Time) string {
	if failed > limitOf(r.Spec.BackoffLimit) {
		return batchv1.JobReasonBackoffLimitExceeded
	}
	if d := r.Spec.ActiveDeadlineSeconds; d != nil && r.Status.StartTime != nil &&
		now.Sub(r.Status.StartTime.Time) >= time.Duration(*d)*time.Second {
		return batchv1.JobReasonDeadlineExceeded
	}
	return ""
}

// defaultBackoffLimit is that of the API.
const defaultBackoffLimit = 6

func limitOf(n *int32) int32 {
	if n == nil {
		return defaultBackoffLimit
	}
	return *n
}

// complete reports whether enough pods have succeeded.
func (r *runs) complete() bool {
	if r.Spec.Completions == nil {
		return r.done() > 0 && len(r.active) == 0
	}
	return r.done() >= *r.Spec.Completions
}

// verdict is the end of a Job.
type verdict struct {
	target, condition batchv1.JobConditionType
	reason            string
	at                metav1.Time
}

// finish deletes active pods and sets the conditions of the end.
func (c *jobs) finish(ctx context.Context, r *runs, s *batchv1.JobStatus, v verdict) error {
	if err := c.stop(ctx, r, s); err != nil {
		return err
	}
	if v.condition == batchv1.JobComplete {
		s.CompletionTime = &v.at
	}
	setJobCondition(s, v.target, corev1.ConditionTrue, v.reason, v.at)
	setJobCondition(s, v.condition, corev1.ConditionTrue, v.reason, v.at)
	return nil
}

// stop deletes active pods.
func (c *jobs) stop(ctx context.Context, r *runs, s *batchv1.JobStatus) error {
	for _, p := range r.active {
		if err := c.remove(ctx, p); err != nil {
			return err
		}
	}
	s.Active, s.Ready = 0, new(int32)
	return nil
}

// scale creates pods until as many are active as the Job allows.
func (c *jobs) scale(ctx context.Context, r *runs, s *batchv1.JobStatus) error {
	wanted := replicasOf(r.Spec.Parallelism)
	if r.Spec.Completions != nil {
		wanted = min(wanted, *r.Spec.Completions-r.done())
	} else if r.done() > 0 {
		wanted = int32(len(r.active)) // a work queue starts nothing after a success
	}
	free := r.free()
	for range min(wanted-int32(len(r.active)), podBurst) {
		index := -1
		if r.indexed() {
			if len(free) == 0 {
				break
			}
			index, free = free[0], free[1:]
		}
		if err := c.create(ctx, r.Job, jobKind(), r.pod(index)); err != nil {
			return err
		}
		s.Active++
	}
	for i := int32(len(r.active)) - 1; i >= max(wanted, 0); i-- {
		if err := c.remove(ctx, r.active[i]); err != nil {
			return err
		}
		s.Active--
	}
	return nil
}

// free returns the indexes of an indexed Job without a pod that is active or has succeeded.
func (r *runs) free() (free []int) {
	if !r.indexed() || r.Spec.Completions == nil {
		return nil
	}
	taken := map[int]bool{}
	for _, n := range r.indexes {
		taken[n] = true
	}
	for _, p := range r.active {
		if n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
			taken[n] = true
		}
	}
	for n := 0; n < int(*r.Spec.Completions) && len(free) < podBurst; n++ {
		if !taken[n] {
			free = append(free, n)
		}
	}
	return free
}

// pod returns a pod of the Job, with an index unless that is negative.
func (r *runs) pod(index int) *corev1.Pod {
	p := podOf(&r.Spec.Template)
	if index < 0 {
		return p
	}
	text := strconv.Itoa(index)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Annotations[batchv1.JobCompletionIndexAnnotation], p.Labels[batchv1.JobCompletionIndexAnnotation] = text, text
	p.GenerateName = r.Name + "-" + text + "-"
	p.Spec.Hostname = r.Name + "-" + text
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Env = append(p.Spec.Containers[i].Env,
			corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", Value: text})
	}
	return p
}

// report updates the status if it has changed.
func (c *jobs) report(ctx context.Context, job, next *batchv1.Job) error {
	if equality.Semantic.DeepEqual(job.Status, next.Status) {
		return nil
	}
	_, err := c.client.Jobs(job.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

func setJobCondition(s *batchv1.JobStatus, t batchv1.JobConditionType, status corev1.ConditionStatus, reason string,
	now metav1.Time) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t {
			if c.Status != status {
				c.Status, c.Reason, c.LastTransitionTime, c.LastProbeTime = status, reason, now, now
			}
			return
		}
	}
	s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: t, Status: status, Reason: reason,
		Message: jobMessages()[reason], LastTransitionTime: now, LastProbeTime: now})
}

func jobMessages() map[string]string {
	return map[string]string{
		batchv1.JobReasonCompletionsReached:   "Reached expected number of succeeded pods",
		batchv1.JobReasonBackoffLimitExceeded: "Job has reached the specified backoff limit",
		batchv1.JobReasonDeadlineExceeded:     "Job was active longer than specified deadline",
		"JobSuspended":                        "Job suspended",
		"JobResumed":                          "Job resumed",
	}
}

// ranges writes sorted numbers as in status.completedIndexes: 0-2,4.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch {
		case i == j:
			parts = append(parts, strconv.Itoa(numbers[i]))
		case j == i+1:
			parts = append(parts, fmt.Sprintf("%d,%d", numbers[i], numbers[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
