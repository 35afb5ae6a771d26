package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	deploymentAccount = "deployment-controller"

	annotationPrefix    = "deployment.kubernetes.io/"
	revisionAnnotation  = annotationPrefix + "revision"
	desiredAnnotation   = annotationPrefix + "desired-replicas"
	maxAnnotation       = annotationPrefix + "max-replicas"
	lastApplyAnnotation = corev1.LastAppliedConfigAnnotation
)

func deploymentKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("Deployment")
}

type deployments struct {
	*base
	client appsv1client.AppsV1Interface
}

// NewDeployments returns the controller of Deployments.
func NewDeployments(e *control.Env) (worker.Runner, error) {
	client, err := appsv1client.NewForConfig(e.As(deploymentAccount))
	if err != nil {
		return nil, err
	}
	c := &deployments{client: client}
	c.base, err = newBase(e, deploymentAccount, deploymentKind(), group.Deployments(e.Stores).Resource(), c.sync)
	if err != nil {
		return nil, err
	}
	c.follow(group.ReplicaSets(e.Stores).Resource(), deploymentKind())
	return c.queue, nil
}

// rollout is the state of a Deployment with its ReplicaSets.
type rollout struct {
	*appsv1.Deployment
	current *appsv1.ReplicaSet   // of the template; nil if there is none
	old     []*appsv1.ReplicaSet // by age
	created bool                 // whether current was created by this reconciliation
}

func (c *deployments) sync(ctx context.Context, key control.Key) error {
	d, err := group.Deployments(c.env.Stores).GetConsistent(control.Reading(ctx), key.Namespace, key.Name)
	if err != nil {
		return ignoreNotFound(err)
	}
	r, err := c.read(ctx, d)
	if err != nil || d.DeletionTimestamp != nil {
		return err
	}
	if r.current == nil && !d.Spec.Paused {
		if err := c.add(ctx, r); err != nil {
			return err
		}
	}
	failure := c.advance(ctx, r)
	return errors.Join(failure, c.report(ctx, r))
}

// read returns the ReplicaSets of a Deployment.
func (c *deployments) read(ctx context.Context, d *appsv1.Deployment) (*rollout, error) {
	all, err := group.ReplicaSets(c.env.Stores).ListConsistent(control.Reading(ctx), d.Namespace)
	if err != nil {
		return nil, err
	}
	r := &rollout{Deployment: d}
	slices.SortFunc(all, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, rs := range all {
		switch {
		case !metav1.IsControlledBy(rs, d):
		case r.current == nil && sameTemplate(&rs.Spec.Template, &d.Spec.Template):
			r.current = rs
		default:
			r.old = append(r.old, rs)
		}
	}
	return r, nil
}

// sameTemplate compares templates without the label that a Deployment adds.
func sameTemplate(of, wanted *corev1.PodTemplateSpec) bool {
	of = of.DeepCopy()
	delete(of.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(of, wanted)
}

// add creates the ReplicaSet of the template.
func (c *deployments) add(ctx context.Context, r *rollout) error {
	hash, err := hashOf(&r.Spec.Template, r.Status.CollisionCount)
	if err != nil {
		return err
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: r.Name + "-" + hash, Namespace: r.Namespace,
		Labels:          withHash(r.Spec.Template.Labels, hash),
		Annotations:     r.annotations(r.lastRevision() + 1),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.Deployment, deploymentKind())},
	}}
	rs.Spec.Template = *r.Spec.Template.DeepCopy()
	rs.Spec.Template.Labels = withHash(rs.Spec.Template.Labels, hash)
	rs.Spec.Selector = r.Spec.Selector.DeepCopy()
	rs.Spec.Selector.MatchLabels = withHash(rs.Spec.Selector.MatchLabels, hash)
	rs.Spec.MinReadySeconds, rs.Spec.Replicas = r.Spec.MinReadySeconds, new(int32)
	created, err := c.client.ReplicaSets(r.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // another template has the same hash
		next := r.DeepCopy()
		collisions := replicasOrZero(next.Status.CollisionCount) + 1
		next.Status.CollisionCount = &collisions
		if _, err := c.client.Deployments(r.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{}); err != nil {
			return err
		}
		return control.Later("the name of the ReplicaSet %s is taken", rs.Name)
	}
	r.current, r.created = created, err == nil
	return err
}

func withHash(labels map[string]string, hash string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return labels
}

// annotations returns the annotations of the ReplicaSet of a revision.
func (r *rollout) annotations(revision int) map[string]string {
	all := maps.Clone(r.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	delete(all, lastApplyAnnotation)
	all[revisionAnnotation] = strconv.Itoa(revision)
	surge, _ := r.fence()
	all[desiredAnnotation] = strconv.Itoa(int(r.wanted()))
	all[maxAnnotation] = strconv.Itoa(int(r.wanted() + surge))
	return all
}

func revisionOf(o metav1.Object) int {
	n, _ := strconv.Atoi(o.GetAnnotations()[revisionAnnotation]) // 0 without one
	return n
}

// lastRevision returns the highest revision of old ReplicaSets.
func (r *rollout) lastRevision() (last int) {
	for _, rs := range r.old {
		last = max(last, revisionOf(rs))
	}
	return last
}

func (r *rollout) wanted() int32 { return replicasOf(r.Spec.Replicas) }

// fence returns how many pods there may be beyond the wanted ones, and how many of these may be unavailable.
func (r *rollout) fence() (surge, unavailable int32) {
	update := r.Spec.Strategy.RollingUpdate
	if r.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || update == nil {
		return 0, 0
	}
	zero := intstr.FromInt32(0)
	total := int(r.wanted())
	// Validation has checked both.
	more, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(update.MaxSurge, zero), total, true)
	fewer, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(update.MaxUnavailable, zero), total, false)
	if more == 0 && fewer == 0 {
		fewer = 1
	}
	return int32(more), int32(min(fewer, total))
}

// advance scales the ReplicaSets by one step of the strategy, and records the revision.
func (c *deployments) advance(ctx context.Context, r *rollout) error {
	if r.current == nil {
		return nil // paused before the first rollout of the template
	}
	size, wanted := replicasOf(r.current.Spec.Replicas), r.wanted()
	var olds, running int32 // what the old ReplicaSets request and have
	for _, rs := range r.old {
		olds += replicasOf(rs.Spec.Replicas)
		running += rs.Status.Replicas
	}
	surge, unavailable := r.fence()
	switch {
	case r.Spec.Paused && olds > 0:
		return nil
	case r.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && olds+running > 0:
		size = min(size, wanted)
	case olds == 0 || size > wanted:
		size = wanted
	default:
		size = min(wanted, size+max(0, wanted+surge-size-olds))
	}
	if err := c.setCurrent(ctx, r, size); err != nil {
		return err
	}
	if r.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return c.shrink(ctx, r, olds)
	}
	excess := size + olds - (wanted - unavailable) - (size - min(size, r.current.Status.AvailableReplicas))
	if err := c.shrink(ctx, r, excess); err != nil {
		return err
	}
	return c.prune(ctx, r)
}

// setCurrent sets the replicas and the annotations of the current ReplicaSet, and the revision of the Deployment.
func (c *deployments) setCurrent(ctx context.Context, r *rollout, size int32) error {
	revision := revisionOf(r.current)
	if last := r.lastRevision(); revision <= last {
		revision = last + 1 // a rollback, or the first revision
	}
	next := r.current.DeepCopy()
	next.Spec.Replicas, next.Spec.MinReadySeconds = &size, r.Spec.MinReadySeconds
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	maps.Copy(next.Annotations, r.annotations(revision))
	if !equality.Semantic.DeepEqual(r.current, next) {
		updated, err := c.client.ReplicaSets(r.Namespace).Update(ctx, next, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		r.current = updated
	}
	if revisionOf(r.Deployment) == revision {
		return nil
	}
	d := r.DeepCopy()
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[revisionAnnotation] = strconv.Itoa(revision)
	updated, err := c.client.Deployments(r.Namespace).Update(ctx, d, metav1.UpdateOptions{})
	if err == nil {
		r.Deployment = updated
	}
	return err
}

// shrink scales old ReplicaSets down by a number of pods: first by those that are not available.
func (c *deployments) shrink(ctx context.Context, r *rollout, excess int32) error {
	for _, onlyIdle := range []bool{true, false} {
		for i, rs := range r.old {
			size := replicasOf(rs.Spec.Replicas)
			fewer := min(size, max(0, excess))
			if onlyIdle {
				fewer = max(0, size-rs.Status.AvailableReplicas)
			}
			if fewer == 0 {
				continue
			}
			next := rs.DeepCopy()
			size -= fewer
			next.Spec.Replicas = &size
			updated, err := c.client.ReplicaSets(r.Namespace).Update(ctx, next, metav1.UpdateOptions{})
			if err != nil {
				return err
			}
			r.old[i], excess = updated, excess-fewer
		}
	}
	return nil
}

// defaultHistory is the number of old ReplicaSets that are kept if the spec does not say.
const defaultHistory = 10

// prune deletes old ReplicaSets without pods beyond the history limit.
func (c *deployments) prune(ctx context.Context, r *rollout) error {
	limit := defaultHistory
	if r.Spec.RevisionHistoryLimit != nil {
		limit = int(*r.Spec.RevisionHistoryLimit)
	}
	if len(r.old) <= limit {
		return nil
	}
	old := slices.SortedFunc(slices.Values(r.old),
		func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, rs := range old[:len(old)-limit] {
		if replicasOf(rs.Spec.Replicas) > 0 || rs.Status.Replicas > 0 || rs.DeletionTimestamp != nil {
			continue
		}
		err := c.client.ReplicaSets(r.Namespace).Delete(ctx, rs.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID}})
		if ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// report updates the status of a Deployment.
func (c *deployments) report(ctx context.Context, r *rollout) error {
	next := r.DeepCopy()
	s := &next.Status
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas = 0, 0, 0, 0
	all := r.old
	if r.current != nil {
		all = append(slices.Clone(all), r.current)
		s.UpdatedReplicas = r.current.Status.Replicas
	}
	var requested int32
	for _, rs := range all {
		s.Replicas += rs.Status.Replicas
		s.ReadyReplicas += rs.Status.ReadyReplicas
		s.AvailableReplicas += rs.Status.AvailableReplicas
		requested += replicasOf(rs.Spec.Replicas)
	}
	s.UnavailableReplicas = max(0, requested-s.AvailableReplicas)
	s.ObservedGeneration = r.Generation
	r.setConditions(s)
	if left := r.deadline(s); left > 0 {
		c.queue.AddAfter(control.Key{Namespace: r.Namespace, Name: r.Name}, left)
	}
	if equality.Semantic.DeepEqual(r.Status, next.Status) {
		return nil
	}
	_, err := c.client.Deployments(r.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// complete reports whether a status is that of a finished rollout.
func (r *rollout) complete(s *appsv1.DeploymentStatus) bool {
	return s.UpdatedReplicas == r.wanted() && s.Replicas == r.wanted() && s.AvailableReplicas == r.wanted()
}

// setConditions sets the conditions Available and Progressing.
func (r *rollout) setConditions(s *appsv1.DeploymentStatus) {
	_, unavailable := r.fence()
	if s.AvailableReplicas >= r.wanted()-unavailable {
		setDeploymentCondition(s, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability.")
	} else {
		setDeploymentCondition(s, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.")
	}
	if r.current == nil {
		return
	}
	progressed := r.created || s.UpdatedReplicas != r.Status.UpdatedReplicas ||
		s.AvailableReplicas > r.Status.AvailableReplicas || s.Replicas < r.Status.Replicas
	found := findCondition(s, appsv1.DeploymentProgressing)
	switch {
	case r.Spec.Paused:
		setDeploymentCondition(s, appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused",
			"Deployment is paused")
	case r.complete(s):
		setDeploymentCondition(s, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable",
			fmt.Sprintf("ReplicaSet %q has successfully progressed.", r.current.Name))
	case progressed || found == nil || found.Reason == "NewReplicaSetAvailable" || found.Reason == "DeploymentPaused":
		setDeploymentCondition(s, appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated",
			fmt.Sprintf("ReplicaSet %q is progressing.", r.current.Name))
		findCondition(s, appsv1.DeploymentProgressing).LastUpdateTime = metav1.Now()
	case found.Status == corev1.ConditionTrue && r.deadline(s) == 0 && r.Spec.ProgressDeadlineSeconds != nil:
		setDeploymentCondition(s, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded",
			fmt.Sprintf("ReplicaSet %q has timed out progressing.", r.current.Name))
	}
}

// deadline returns the time until a rollout counts as failed; 0 if it does already, or cannot.
func (r *rollout) deadline(s *appsv1.DeploymentStatus) time.Duration {
	c := findCondition(s, appsv1.DeploymentProgressing)
	if r.Spec.ProgressDeadlineSeconds == nil || c == nil || c.Reason != "ReplicaSetUpdated" {
		return 0
	}
	return max(0, time.Until(c.LastUpdateTime.Add(time.Duration(*r.Spec.ProgressDeadlineSeconds)*time.Second)))
}

func findCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

func setDeploymentCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType,
	status corev1.ConditionStatus, reason, message string) {
	now := metav1.Now()
	c := findCondition(s, t)
	if c == nil {
		s.Conditions = append(s.Conditions, appsv1.DeploymentCondition{Type: t, LastTransitionTime: now})
		c = &s.Conditions[len(s.Conditions)-1]
	}
	if c.Status == status && c.Reason == reason {
		return
	}
	if c.Status != status {
		c.LastTransitionTime = now
	}
	c.Status, c.Reason, c.Message, c.LastUpdateTime = status, reason, message, now
}

func replicasOrZero(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
