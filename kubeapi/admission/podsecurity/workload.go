package podsecurity

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/check"
	templates "triplane.dev/kubeapi/workload"
)

// workload is an operation on a pod, or on an object with a pod template.
type workload struct {
	*admission.Attributes
	meta  *metav1.ObjectMeta
	spec  *corev1.PodSpec
	isPod bool
}

// workloadOf returns nil for operations on other objects.
func workloadOf(a *admission.Attributes) *workload {
	if pod, ok := a.Object.(*corev1.Pod); ok {
		return &workload{a, &pod.ObjectMeta, &pod.Spec, true}
	}
	if t := templates.Template(a.Object); t != nil {
		return &workload{a, &t.ObjectMeta, &t.Spec, false}
	}
	return nil
}

// changes reports whether an update of a pod can change the result.
func (w *workload) changes() bool {
	old, ok := w.OldObject.(*corev1.Pod)
	return !ok || check.Differs(*w.spec, old.Spec)
}

// compare evaluates the workload at a level.
func (w *workload) compare(e policy.Evaluator, level api.LevelVersion) policy.AggregateCheckResult {
	return policy.AggregateCheckResults(e.EvaluatePod(level, w.meta, w.spec))
}
