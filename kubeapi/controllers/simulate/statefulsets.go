package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const statefulSetAccount = "statefulset-controller"

func statefulSetKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
}

type statefulSets struct {
	*base
	client appsv1client.AppsV1Interface
	claims corev1client.PersistentVolumeClaimsGetter
}

// NewStatefulSets returns the controller of StatefulSets.
func NewStatefulSets(e *control.Env) (worker.Runner, error) {
	config := e.As(statefulSetAccount)
	client, err := appsv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	claims, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &statefulSets{client: client, claims: claims}
	c.base, err = newBase(e, statefulSetAccount, statefulSetKind(), group.StatefulSets(e.Stores).Resource(), c.sync)
	if err != nil {
		return nil, err
	}
	return c.queue, nil
}

// replicas is the state of a StatefulSet with its pods.
type replicas struct {
	*appsv1.StatefulSet
	pods map[int]*corev1.Pod // by ordinal; terminated ones are deleted before
	// update is the revision of the template, current the one before it while it is rolled out.
	update, current *appsv1.ControllerRevision
}

func (c *statefulSets) sync(ctx context.Context, key control.Key) error {
	set, err := group.StatefulSets(c.env.Stores).GetConsistent(control.Reading(ctx), key.Namespace, key.Name)
	if err != nil {
		return ignoreNotFound(err)
	}
	r := &replicas{StatefulSet: set, pods: map[int]*corev1.Pod{}}
	pods, err := c.podsOf(ctx, set)
	if err != nil {
		return err
	}
	for _, p := range pods {
		if ordinal, ok := r.ordinal(p.Name); ok {
			r.pods[ordinal] = p
		}
	}
	if set.DeletionTimestamp != nil {
		return nil
	}
	if err := c.revisions(ctx, r); err != nil {
		return err
	}
	failure := c.advance(ctx, r)
	return errors.Join(failure, c.report(ctx, r))
}

// ordinal returns the ordinal in the name of a pod.
func (r *replicas) ordinal(pod string) (int, bool) {
	text, ok := strings.CutPrefix(pod, r.Name+"-")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}

// start returns the first ordinal.
func (r *replicas) start() int {
	if r.Spec.Ordinals == nil {
		return 0
	}
	return int(r.Spec.Ordinals.Start)
}

// end returns the first ordinal beyond the wanted ones.
func (r *replicas) end() int { return r.start() + int(replicasOf(r.Spec.Replicas)) }

// revisions finds or creates the ControllerRevisions of the template and of the status.
func (c *statefulSets) revisions(ctx context.Context, r *replicas) error {
	hash, err := hashOf(&r.Spec.Template, r.Status.CollisionCount)
	if err != nil {
		return err
	}
	client := c.client.ControllerRevisions(r.Namespace)
	name := r.Name + "-" + hash
	r.update, err = client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.update, err = c.addRevision(ctx, r, name, hash)
	}
	if err != nil {
		return err
	}
	r.current = r.update
	if before := r.Status.CurrentRevision; before != "" && before != name {
		found, err := client.Get(ctx, before, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			r.current = found
		}
	}
	return nil
}

// addRevision creates the ControllerRevision of the template.
func (c *statefulSets) addRevision(ctx context.Context, r *replicas, name, hash string) (*appsv1.ControllerRevision,
	error) {
	all, err := c.client.ControllerRevisions(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	last := int64(0)
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], r.StatefulSet) {
			last = max(last, all.Items[i].Revision)
		}
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": r.Spec.Template}})
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(r.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["controller.kubernetes.io/hash"] = hash
	return c.client.ControllerRevisions(r.Namespace).Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.StatefulSet, statefulSetKind())}},
		Data: runtime.RawExtension{Raw: data}, Revision: last + 1,
	}, metav1.CreateOptions{})
}

// advance creates and deletes pods: all at once, or one after another.
func (c *statefulSets) advance(ctx context.Context, r *replicas) error {
	parallel := r.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	for ordinal := r.start(); ordinal < r.end(); ordinal++ {
		p := r.pods[ordinal]
		switch {
		case p == nil:
			if err := c.add(ctx, r, ordinal); err != nil || !parallel {
				return err
			}
		case !isActive(p) && p.DeletionTimestamp == nil: // a terminated pod is replaced
			return c.remove(ctx, p)
		case !isReady(p) && !parallel:
			return nil
		}
	}
	surplus := slices.SortedFunc(maps.Keys(r.pods), func(a, b int) int { return cmp.Compare(b, a) })
	for _, ordinal := range surplus {
		if ordinal >= r.start() && ordinal < r.end() {
			continue
		}
		if err := c.remove(ctx, r.pods[ordinal]); err != nil || !parallel {
			return err
		}
	}
	return c.replace(ctx, r)
}

// partition returns the first ordinal that a rolling update replaces.
func (r *replicas) partition() int {
	u := r.Spec.UpdateStrategy.RollingUpdate
	if u == nil || u.Partition == nil {
		return 0
	}
	return int(*u.Partition)
}

// replace deletes the last pod that has another template, when all later ones are ready.
func (c *statefulSets) replace(ctx context.Context, r *replicas) error {
	if r.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	for ordinal := r.end() - 1; ordinal >= max(r.start(), r.partition()); ordinal-- {
		p := r.pods[ordinal]
		if p == nil {
			return nil
		}
		if p.Labels[appsv1.StatefulSetRevisionLabel] != r.update.Name {
			return c.remove(ctx, p)
		}
		if !isReady(p) {
			return nil
		}
	}
	return nil
}

// add creates a pod and its claims.
func (c *statefulSets) add(ctx context.Context, r *replicas, ordinal int) error {
	template, revision := &r.Spec.Template, r.update
	if ordinal < r.partition() && r.current.Name != r.update.Name {
		var before appsv1.StatefulSet
		if err := json.Unmarshal(r.current.Data.Raw, &before); err != nil {
			return fmt.Errorf("revision %s: %w", r.current.Name, err)
		}
		template, revision = &before.Spec.Template, r.current
	}
	pod := podOf(template)
	pod.Name = r.Name + "-" + strconv.Itoa(ordinal)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision.Name
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, r.Spec.ServiceName
	for i := range r.Spec.VolumeClaimTemplates {
		claim := r.Spec.VolumeClaimTemplates[i].DeepCopy()
		volume := claim.Name
		claim.Name, claim.Namespace = volume+"-"+pod.Name, r.Namespace
		if claim.Labels = maps.Clone(claim.Labels); claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		maps.Copy(claim.Labels, r.Spec.Selector.MatchLabels)
		claim.Status = corev1.PersistentVolumeClaimStatus{}
		_, err := c.claims.PersistentVolumeClaims(r.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes,
			func(v corev1.Volume) bool { return v.Name == volume })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: claim.Name}}})
	}
	err := c.create(ctx, r.StatefulSet, statefulSetKind(), pod)
	if apierrors.IsAlreadyExists(err) {
		return control.Later("the pod %s exists", pod.Name)
	}
	return err
}

// report updates the status.
func (c *statefulSets) report(ctx context.Context, r *replicas) error {
	next := r.DeepCopy()
	s := &next.Status
	active := slices.DeleteFunc(slices.Collect(maps.Values(r.pods)), func(p *corev1.Pod) bool { return !isActive(p) })
	n := count(active, r.Spec.MinReadySeconds)
	s.Replicas, s.ReadyReplicas, s.AvailableReplicas = int32(len(active)), n.ready, n.available
	s.CurrentReplicas, s.UpdatedReplicas = 0, 0
	s.CurrentRevision, s.UpdateRevision = r.current.Name, r.update.Name
	for _, p := range active {
		switch p.Labels[appsv1.StatefulSetRevisionLabel] {
		case r.update.Name:
			s.UpdatedReplicas++
		case r.current.Name:
			s.CurrentReplicas++
		}
	}
	wanted := replicasOf(r.Spec.Replicas)
	if s.UpdatedReplicas == wanted && s.ReadyReplicas == wanted || s.CurrentRevision == s.UpdateRevision {
		s.CurrentRevision, s.CurrentReplicas = s.UpdateRevision, s.UpdatedReplicas
	}
	if s.CollisionCount == nil {
		s.CollisionCount = new(int32)
	}
	s.ObservedGeneration = r.Generation
	if n.next > 0 {
		c.queue.AddAfter(control.Key{Namespace: r.Namespace, Name: r.Name}, n.next)
	}
	if equality.Semantic.DeepEqual(r.Status, next.Status) {
		return nil
	}
	_, err := c.client.StatefulSets(r.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}
