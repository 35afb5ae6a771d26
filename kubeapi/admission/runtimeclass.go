package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// runtimeClass adds the overhead and the scheduling constraints of a pod's runtime class, and rejects pods that
// conflict with them.
//
// Options: none. Metrics: none. Order: before ResourceQuota, which counts overhead.
type runtimeClass struct{ stores *group.Stores }

func newRuntimeClass(d *Dependencies) admission.Interface {
	return &runtimeClass{stores: d.Stores}
}

// Handles implements admission.Interface.
func (*runtimeClass) Handles(op admission.Operation) bool { return op == admission.Create }

func (r *runtimeClass) class(
	ctx context.Context, a *admission.Attributes, p *corev1.Pod,
) (*nodev1.RuntimeClass, error) {
	if p.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	name := *p.Spec.RuntimeClassName
	c, err := group.RuntimeClasses(r.stores).Get(ctx, "", name)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, admission.Forbiddenf(a, "pod rejected: RuntimeClass %q not found", name)
	}
	return c, err
}

// Admit implements admission.MutatingInterface.
func (r *runtimeClass) Admit(ctx context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil {
		return nil
	}
	c, err := r.class(ctx, a, p)
	if c == nil || err != nil {
		return err
	}
	if c.Overhead != nil {
		if len(p.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(p.Spec.Overhead, c.Overhead.PodFixed) {
			return admission.Forbiddenf(a, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		p.Spec.Overhead = c.Overhead.PodFixed
	}
	return schedule(a, p, c.Scheduling)
}

func schedule(a *admission.Attributes, p *corev1.Pod, s *nodev1.Scheduling) error {
	if s == nil {
		return nil
	}
	for k, v := range s.NodeSelector {
		if have, ok := p.Spec.NodeSelector[k]; ok && have != v {
			return admission.Forbiddenf(a,
				"conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", k, v, k,
				have)
		}
	}
	if p.Spec.NodeSelector == nil && len(s.NodeSelector) > 0 {
		p.Spec.NodeSelector = map[string]string{}
	}
	for k, v := range s.NodeSelector {
		p.Spec.NodeSelector[k] = v
	}
	p.Spec.Tolerations = mergeTolerations(p.Spec.Tolerations, s.Tolerations)
	return nil
}

// Validate implements admission.ValidatingInterface.
func (r *runtimeClass) Validate(ctx context.Context, a *admission.Attributes) error {
	p := podOf(a)
	if p == nil || p.Spec.Overhead == nil {
		return nil
	}
	c, err := r.class(ctx, a, p)
	if err != nil {
		return err
	}
	if c == nil || c.Overhead == nil {
		return admission.Forbiddenf(a, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	if !equality.Semantic.DeepEqual(p.Spec.Overhead, c.Overhead.PodFixed) {
		return admission.Forbiddenf(a, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	}
	return nil
}
