package ttl

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const workers = 5

type controller struct {
	env    *control.Env
	client batchv1client.JobsGetter
	queue  *control.Queue[control.Key]
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := batchv1client.NewForConfig(e.As("ttl-after-finished-controller"))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client}
	c.queue = control.NewQueue(e, "ttl_jobs_to_delete", workers, c.sync)
	e.Feed.On(group.Jobs(e.Stores).Resource(), func(o *control.Object) {
		if o.Mentions(string(batchv1.JobComplete)) || o.Mentions(string(batchv1.JobFailed)) {
			c.queue.Add(control.KeyOf(o))
		}
	})
	return c.queue, nil
}

// sync deletes a Job whose TTL has expired, or waits for its expiry.
func (c *controller) sync(ctx context.Context, key control.Key) error {
	job, err := group.Jobs(c.env.Stores).GetCached(control.Reading(ctx), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	left, expires := remaining(job, time.Now())
	if !expires {
		return nil
	}
	if left > 0 {
		c.queue.AddAfter(key, left)
		return nil
	}
	policy := metav1.DeletePropagationForeground
	err = c.client.Jobs(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &job.UID,
			ResourceVersion: &job.ResourceVersion},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remaining returns the remaining TTL of a finished Job; expires is false if it has none.
func remaining(job *batchv1.Job, now time.Time) (left time.Duration, expires bool) {
	if job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return 0, false
	}
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			end := c.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second)
			return end.Sub(now), true
		}
	}
	return 0, false
}
