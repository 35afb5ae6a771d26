package pod

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/group"
)

// eviction serves "pods/eviction": a deletion that asks disruption budgets first.
type eviction struct {
	pods   *registry.Store[pod]
	stores *group.Stores
}

func (e eviction) resource() *rest.Resource {
	return &rest.Resource{
		New:  func() runtime.Object { return &policyv1.Eviction{} },
		Kind: evictionKind, Accepts: []schema.GroupVersion{oldEvictions}, Codec: evictionCodec,
		Create: e.create,
	}
}

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

// oldEvictions is the version that clients from before policy/v1 send, with the same
// fields.
var oldEvictions = schema.GroupVersion{Group: policyv1.GroupName, Version: "v1beta1"}

// evictionCodec reads bodies of the old version, too.
func evictionCodec(schema.GroupVersion) (rest.Codec, error) {
	scheme := runtime.NewScheme()
	if err := policyv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypeWithName(oldEvictions.WithKind("Eviction"), &policyv1.Eviction{})
	return codec.New(scheme, evictionKind, codec.Options{})
}

func (e eviction) create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	ev, ok := r.Object.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Eviction object: %T", r.Object))
	}
	if ev.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if err := group.Admit(ctx, ev, r.Validate); err != nil {
		return nil, err
	}
	del := &metav1.DeleteOptions{}
	if ev.DeleteOptions != nil {
		del = ev.DeleteOptions
	}
	if r.Options != nil && len(r.Options.DryRun) > 0 {
		del.DryRun = r.Options.DryRun
	}
	if err := e.evict(ctx, r.Name, del); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: 201}, nil
}

// maxAttempts is how often an eviction whose pod changes concurrently is retried.
const maxAttempts = 5

// evict deletes a pod if its budget allows it.
func (e eviction) evict(ctx context.Context, name string, del *metav1.DeleteOptions) error {
	for attempt := 1; ; attempt++ {
		p, err := e.pods.Read(ctx, name)
		if err != nil {
			return err
		}
		options, free := del.DeepCopy(), true
		if counts(p) {
			if free, err = e.askBudgets(ctx, p, len(del.DryRun) > 0); err != nil {
				return err
			}
		}
		// What a budget does not count must not begin to count before it is deleted.
		pinned := free && p.DeletionTimestamp == nil && versionOf(del) == nil
		if pinned {
			pin(options, p.ResourceVersion)
		}
		if err = e.markDisrupted(ctx, name, options); err == nil {
			_, _, err = e.pods.Delete(ctx, rest.DeleteRequest{Name: name, Options: options})
		}
		if !pinned || attempt == maxAttempts || !apierrors.IsConflict(err) {
			return err
		}
	}
}

// versionOf returns the resource version that a pod has to have to be deleted.
func versionOf(del *metav1.DeleteOptions) *string {
	if del.Preconditions == nil {
		return nil
	}
	return del.Preconditions.ResourceVersion
}

// pin makes the resource version a precondition of the deletion.
func pin(del *metav1.DeleteOptions, version string) {
	if del.Preconditions == nil {
		del.Preconditions = &metav1.Preconditions{}
	}
	del.Preconditions.ResourceVersion = &version
}

// counts reports whether a pod's end disrupts anything.
func counts(p pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed &&
		p.Status.Phase != corev1.PodPending && p.DeletionTimestamp == nil
}

// askBudgets takes a disruption from the budget of a pod. It reports whether the
// pod has a budget that does not count it, so that it is free to go as it is.
func (e eviction) askBudgets(ctx context.Context, p pod, dryRun bool) (free bool, err error) {
	all, err := group.PodDisruptionBudgets(e.stores).ListConsistent(ctx, p.Namespace)
	if err != nil {
		return false, err
	}
	var match []*policyv1.PodDisruptionBudget
	for _, b := range all {
		if s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && !s.Empty() &&
			s.Matches(labels.Set(p.Labels)) {
			match = append(match, b)
		}
	}
	switch len(match) {
	case 0:
		return false, nil
	case 1:
		if !ready(p) && freesUnready(match[0]) {
			return true, nil
		}
		return false, e.spend(ctx, match[0].Name, p, dryRun)
	}
	return false, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 500,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	}}
}

func ready(p pod) bool {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// freesUnready reports whether pods that are not ready are evicted whatever a
// budget's disruptions are: always, or while enough others are healthy
// (KEP-3017).
func freesUnready(b *policyv1.PodDisruptionBudget) bool {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

// spend takes one disruption from a budget.
func (e eviction) spend(ctx context.Context, name string, p pod, dryRun bool) error {
	var refusal error
	write := group.StatusWrite{Namespace: p.Namespace, Name: name, DryRun: dryRun}
	_, err := group.ModifyStatus(ctx, group.PodDisruptionBudgets(e.stores), write,
		func(b *policyv1.PodDisruptionBudget) error {
			refusal = disrupt(b, p.Name)
			return refusal
		})
	if refusal != nil {
		return refusal
	}
	return err
}

func disrupt(b *policyv1.PodDisruptionBudget, podName string) error {
	if b.Status.ObservedGeneration < b.Generation {
		return tooMany(10, "The disruption budget %s is still being processed by the server.", b.Name)
	}
	if b.Status.DisruptionsAllowed <= 0 {
		return blocked(b)
	}
	if len(b.Status.DisruptedPods) > maxDisruptedPods {
		return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), b.Name,
			errors.New("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
	}
	if b.Status.DisruptionsAllowed--; b.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
			ObservedGeneration: b.Status.ObservedGeneration,
		})
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[podName] = metav1.Now().Rfc3339Copy()
	return nil
}

// maxDisruptedPods bounds the pods in a budget's status whose end no controller has
// confirmed.
const maxDisruptedPods = 2000

// blocked returns why a budget allows no disruption.
func blocked(b *policyv1.PodDisruptionBudget) error {
	if c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); c != nil &&
		c.Reason == policyv1.SyncFailedReason {
		return tooMany(0, "The disruption budget %s does not allow evicting pods currently because it failed sync: %v",
			b.Name, c.Message)
	}
	if b.Status.CurrentHealthy <= b.Status.DesiredHealthy {
		return tooMany(0, "The disruption budget %s needs %d healthy pods and has %d currently", b.Name,
			b.Status.DesiredHealthy, b.Status.CurrentHealthy)
	}
	return tooMany(0, "The disruption budget %s does not allow evicting pods currently", b.Name)
}

func tooMany(retry int, detail string, args ...any) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retry)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(detail, args...),
	})
	return err
}

// markDisrupted notes in the pod why it ends, for controllers that count such
// ends differently. The pod has to meet the preconditions of the deletion, whose
// resource version is the marked pod's then.
func (e eviction) markDisrupted(ctx context.Context, name string, del *metav1.DeleteOptions) error {
	marked, err := e.pods.Modify(ctx, name, e.pods.Kind().Status, len(del.DryRun) > 0, func(p pod) error {
		if err := kind.UnmetPrecondition(e.pods.Kind().Hub, p, del.Preconditions); err != nil {
			return err
		}
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now().Rfc3339Copy(),
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return nil
	})
	if err == nil && len(del.DryRun) == 0 && versionOf(del) != nil {
		pin(del, marked.ResourceVersion)
	}
	return err
}
