package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
)

// TolerationOptions are the default durations for which pods tolerate nodes that are not ready or unreachable.
type TolerationOptions struct {
	NotReadySeconds, UnreachableSeconds int64
}

// DefaultTolerationOptions returns kube-apiserver's defaults.
func DefaultTolerationOptions() TolerationOptions { return TolerationOptions{300, 300} }

// tolerationSeconds adds tolerations for nodes that are not ready or unreachable, unless the pod has such
// tolerations.
//
// Options: --default-not-ready-toleration-seconds, --default-unreachable-toleration-seconds. Metrics: none. Order:
// any.
type tolerationSeconds struct{ TolerationOptions }

func newTolerationSeconds(d *Dependencies) admission.Interface {
	return tolerationSeconds{d.Tolerations}
}

// Handles implements admission.Interface.
func (tolerationSeconds) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Admit implements admission.MutatingInterface.
func (t tolerationSeconds) Admit(_ context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil {
		return nil
	}
	for _, add := range []struct {
		key     string
		seconds int64
	}{{corev1.TaintNodeNotReady, t.NotReadySeconds}, {corev1.TaintNodeUnreachable, t.UnreachableSeconds}} {
		key, seconds := add.key, add.seconds
		if tolerates(p.Spec.Tolerations, key) {
			continue
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: &seconds,
		})
	}
	return nil
}

func tolerates(list []corev1.Toleration, key string) bool {
	for i := range list {
		t := &list[i]
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
