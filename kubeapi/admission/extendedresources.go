package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/podspec"
)

// extendedResources adds tolerations to pods that request extended resources, for nodes that are tainted with the
// resource's name and dedicated to such pods. It does so even if a broader toleration exists, because this one
// states the reason.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: after PodTolerationRestriction,
// which does not restrict these tolerations.
type extendedResources struct{ operations }

func newExtendedResources(_ *Dependencies) admission.Interface {
	return extendedResources{operations{admission.Create, admission.Update}}
}

// Admit implements admission.MutatingInterface.
func (extendedResources) Admit(_ context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil {
		return nil
	}
	names := sets.New[string]()
	containersOf(&p.Spec, func(c *corev1.Container, _ *field.Path) {
		for name := range c.Resources.Requests {
			if podspec.Extended(string(name)) {
				names.Insert(string(name))
			}
		}
	})
	for _, name := range sets.List(names) {
		t := corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(p.Spec.Tolerations,
			func(have corev1.Toleration) bool { return have.MatchToleration(&t) }) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, t)
		}
	}
	return nil
}
