package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/admission"
)

// alwaysPullImages makes kubelets pull the images of new containers and volumes. Otherwise users could run an
// image that is on a node because another user may pull it.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: before webhooks, whose changes
// are validated.
type alwaysPullImages struct{ operations }

func newAlwaysPullImages(_ *Dependencies) admission.Interface {
	return alwaysPullImages{operations{admission.Create, admission.Update}}
}

// Admit implements admission.MutatingInterface.
func (alwaysPullImages) Admit(_ context.Context, a *admission.Attributes) error {
	p := runsIn(a)
	if p == nil || !newImages(a, p) {
		return nil
	}
	containersOf(&p.Spec, func(c *corev1.Container, _ *field.Path) { c.ImagePullPolicy = corev1.PullAlways })
	for i := range p.Spec.Volumes {
		if v := p.Spec.Volumes[i].Image; v != nil {
			v.PullPolicy = corev1.PullAlways
		}
	}
	return nil
}

// Validate implements admission.ValidatingInterface.
func (alwaysPullImages) Validate(_ context.Context, a *admission.Attributes) error {
	p := runsIn(a)
	if p == nil || !newImages(a, p) {
		return nil
	}
	var errs field.ErrorList
	check := func(policy corev1.PullPolicy, path *field.Path) {
		if policy != corev1.PullAlways {
			errs = append(errs, field.NotSupported(path, policy, []corev1.PullPolicy{corev1.PullAlways}))
		}
	}
	containersOf(&p.Spec, func(c *corev1.Container, path *field.Path) {
		check(c.ImagePullPolicy,
			path.Child("imagePullPolicy"))
	})
	for i := range p.Spec.Volumes {
		if v := p.Spec.Volumes[i].Image; v != nil {
			check(v.PullPolicy, field.NewPath("spec", "volumes").Index(i).Child("image", "pullPolicy"))
		}
	}
	if len(errs) > 0 {
		return admission.Forbiddenf(a, "%w", errs.ToAggregate())
	}
	return nil
}
