package simulate

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers = 3
	// podBurst bounds how many pods one reconciliation creates.
	podBurst = 500
)

// base is what the controllers share.
type base struct {
	env   *control.Env
	pods  corev1client.PodsGetter
	queue *control.Queue[control.Key]
}

// newBase returns the base of a controller that reconciles the objects of a resource, and of pods that they own.
func newBase(e *control.Env, account string, kind schema.GroupVersionKind, resource schema.GroupResource,
	sync func(context.Context, control.Key) error) (*base, error) {
	pods, err := corev1client.NewForConfig(e.As(account))
	if err != nil {
		return nil, err
	}
	b := &base{env: e, pods: pods}
	b.queue = control.NewQueue(e, "simulated_"+resource.Resource, workers, sync)
	e.Feed.On(resource, func(o *control.Object) { b.queue.Add(control.KeyOf(o)) })
	b.follow(group.Pods(e.Stores).Resource(), kind)
	return b, nil
}

// follow reconciles the owner of a kind when an object of a resource changes. A deletion has no value, so owners are
// found by the last known owner.
func (b *base) follow(resource schema.GroupResource, kind schema.GroupVersionKind) {
	owners := map[string]control.Key{} // by key; handlers are called one at a time
	b.env.Feed.On(resource, func(o *control.Object) {
		owner, known := owners[o.Key]
		if o.Deleted() {
			delete(owners, o.Key)
		} else if m, err := control.ReadMeta(o.Value); err == nil {
			if ref := controllerOf(m.Owners, kind); ref != nil {
				owner, known = control.Key{Namespace: o.Namespace, Name: ref.Name}, true
				owners[o.Key] = owner
			}
		}
		if known {
			b.queue.Add(owner)
		}
	})
}

// controllerOf returns the controller among owners if it has the kind.
func controllerOf(owners []metav1.OwnerReference, kind schema.GroupVersionKind) *metav1.OwnerReference {
	for i := range owners {
		if o := &owners[i]; o.Controller != nil && *o.Controller {
			if gv, err := schema.ParseGroupVersion(o.APIVersion); err == nil && gv.Group == kind.Group &&
				o.Kind == kind.Kind {
				return o
			}
		}
	}
	return nil
}

// podsOf returns the pods that an object controls, sorted by name, as of all writes before the call.
func (b *base) podsOf(ctx context.Context, owner metav1.Object) ([]*corev1.Pod, error) {
	all, err := group.Pods(b.env.Stores).ListConsistent(control.Reading(ctx), owner.GetNamespace())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p *corev1.Pod) bool { return !metav1.IsControlledBy(p, owner) })
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// create creates a pod of a template. Its name is generated from that of the owner, unless name is set.
func (b *base) create(ctx context.Context, owner metav1.Object, kind schema.GroupVersionKind, pod *corev1.Pod) error {
	if pod.Name == "" && pod.GenerateName == "" {
		pod.GenerateName = owner.GetName() + "-"
	}
	pod.Namespace = owner.GetNamespace()
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
	_, err := b.pods.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// remove deletes a pod.
func (b *base) remove(ctx context.Context, pod *corev1.Pod) error {
	err := b.pods.Pods(pod.Namespace).Delete(ctx, pod.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// podOf returns the pod of a template.
func podOf(t *corev1.PodTemplateSpec) *corev1.Pod {
	t = t.DeepCopy()
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations,
		Finalizers: t.Finalizers}, Spec: t.Spec}
}

// isActive reports whether a pod has neither terminated nor is being deleted.
func isActive(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && p.DeletionTimestamp == nil
}

// readySince returns when a pod became ready; ok is false if it is not.
func readySince(p *corev1.Pod) (since time.Time, ok bool) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return time.Time{}, false
}

// isReady reports whether a pod is ready.
func isReady(p *corev1.Pod) bool {
	_, ok := readySince(p)
	return ok
}

// counts are numbers of pods.
type counts struct {
	ready, available int32
	// next is when the next ready pod becomes available; 0 if none will.
	next time.Duration
}

// count counts pods that are ready, and that have been ready for minReady seconds.
func count(pods []*corev1.Pod, minReady int32) (c counts) {
	for _, p := range pods {
		since, ok := readySince(p)
		if !ok {
			continue
		}
		c.ready++
		if left := time.Until(since.Add(time.Duration(minReady) * time.Second)); minReady > 0 && left > 0 {
			if c.next == 0 || left < c.next {
				c.next = left
			}
			continue
		}
		c.available++
	}
	return c
}

// hashOf returns the hash of a pod template, in the characters of generated names.
func hashOf(t *corev1.PodTemplateSpec, collisions *int32) (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	_, _ = h.Write(raw) // never fails
	if collisions != nil {
		_, _ = fmt.Fprint(h, *collisions)
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32())), nil
}

// ignoreNotFound returns nil for the error of a missing object.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
