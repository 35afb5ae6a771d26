package admission

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
)

// podTolerations adds the default tolerations of a namespace to its pods, and rejects pods with tolerations that
// the namespace does not allow. Both are annotations of the namespace,
// scheduler.alpha.kubernetes.io/defaultTolerations and …/tolerationsWhitelist; without them the cluster's apply.
//
// Options: --enable-admission-plugins; it is off by default. Its configuration
// (podtolerationrestriction.admission.k8s.io/v1alpha1, kind Configuration) has the cluster's tolerations. Metrics:
// none. Order: after DefaultTolerationSeconds, whose tolerations must be allowed.
type podTolerations struct {
	operations
	stores             *group.Stores
	byDefault, allowed []corev1.Toleration
}

const (
	defaultTolerationsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	allowedTolerationsAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

func newPodTolerations(d *Dependencies, raw []byte) (admission.Interface, error) {
	var c struct {
		Default   []corev1.Toleration `json:"default"`
		Whitelist []corev1.Toleration `json:"whitelist"`
	}
	kind := schema.GroupVersionKind{Group: "podtolerationrestriction.admission.k8s.io", Version: "v1alpha1",
		Kind: "Configuration"}
	if err := configuration.DecodeLenient(raw, &c, kind); err != nil {
		return nil, err
	}
	errs := append(podvalidation.Tolerations(c.Default, false, field.NewPath("default")),
		podvalidation.Tolerations(c.Whitelist, false, field.NewPath("whitelist"))...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("invalid config: %w", errs.ToAggregate())
	}
	return &podTolerations{operations{admission.Create, admission.Update}, d.Stores, c.Default, c.Whitelist}, nil
}

// Admit implements admission.MutatingInterface.
func (p *podTolerations) Admit(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil || unchanged(a, pod) {
		return nil
	}
	if a.Operation == admission.Create {
		defaults, _, err := p.of(ctx, a, defaultTolerationsAnnotation, p.byDefault)
		if err != nil {
			return err
		}
		pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, defaults)
	}
	if class := podspec.QOSClass(&pod.Spec); class != corev1.PodQOSBestEffort {
		pressure := corev1.Toleration{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoSchedule}
		pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, []corev1.Toleration{pressure})
	}
	return p.Validate(ctx, a)
}

// Validate implements admission.ValidatingInterface.
func (p *podTolerations) Validate(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil || unchanged(a, pod) {
		return nil
	}
	allowed, owner, err := p.of(ctx, a, allowedTolerationsAnnotation, p.allowed)
	if err != nil || len(allowed) == 0 {
		return err
	}
	set := newTolerationSet(allowed)
	for i := range pod.Spec.Tolerations {
		if set.covering(&pod.Spec.Tolerations[i]) < 0 {
			return admission.Forbiddenf(a,
				"pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist",
				owner)
		}
	}
	return nil
}

// unchanged reports whether an update does not change the tolerations.
func unchanged(a *admission.Attributes, p *corev1.Pod) bool {
	old, ok := a.OldObject.(*corev1.Pod)
	return a.Operation == admission.Update && ok && equality.Semantic.DeepEqual(p.Spec.Tolerations,
		old.Spec.Tolerations)
}

// of returns the tolerations in an annotation of the pod's namespace, or those of the cluster, and which of both
// has them.
func (p *podTolerations) of(
	ctx context.Context, a *admission.Attributes, annotation string, cluster []corev1.Toleration,
) (list []corev1.Toleration, owner string, err error) {
	ns, err := group.Namespaces(p.stores).Get(ctx, "", a.Namespace)
	if apierrors.IsNotFound(err) {
		return nil, "", admission.Forbiddenf(a, "namespace %s not found", a.Namespace)
	}
	if err != nil {
		return nil, "", apierrors.NewInternalError(err)
	}
	text, ok := ns.Annotations[annotation]
	if !ok {
		return cluster, "cluster", nil
	}
	if text == "" {
		return nil, "namespace", nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, "", apierrors.NewInternalError(err)
	}
	return list, "namespace", nil
}
