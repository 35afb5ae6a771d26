package admission

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/kubeapi/group"
)

// podNodeSelector adds the node selector of a namespace to its pods. It rejects pods whose selector conflicts with
// it, or has labels that the configuration does not allow for the namespace. A namespace's selector is its
// annotation scheduler.alpha.kubernetes.io/node-selector, or the cluster's default.
//
// Options: --enable-admission-plugins; it is off by default. Its configuration podNodeSelectorPluginConfig maps
// namespaces, and clusterDefaultNodeSelector, to selectors. Metrics: none. Order: before webhooks, whose changes
// are validated.
type podNodeSelector struct {
	operations
	stores    *group.Stores
	byDefault labels.Set
	allowed   map[string]labels.Set // by namespace
}

const (
	nodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"
	clusterNodeSelector    = "clusterDefaultNodeSelector"
)

func newPodNodeSelector(d *Dependencies, raw []byte) (admission.Interface, error) {
	var c struct {
		PodNodeSelectorPluginConfig map[string]string `json:"podNodeSelectorPluginConfig"`
	}
	if len(raw) > 0 {
		if err := configuration.DecodeUnversioned(raw, &c); err != nil {
			return nil, err
		}
	}
	p := &podNodeSelector{operations: operations{admission.Create}, stores: d.Stores, allowed: map[string]labels.Set{}}
	for name, text := range c.PodNodeSelectorPluginConfig {
		selector, err := labels.ConvertSelectorToLabelsMap(text)
		if err != nil {
			return nil, err
		}
		if name == clusterNodeSelector {
			p.byDefault = selector
			continue
		}
		p.allowed[name] = selector
	}
	return p, nil
}

// Admit implements admission.MutatingInterface.
func (p *podNodeSelector) Admit(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	selector, err := p.compatible(ctx, a, pod)
	if err != nil {
		return err
	}
	if len(selector) > 0 {
		pod.Spec.NodeSelector = labels.Merge(selector, pod.Spec.NodeSelector)
	}
	return p.Validate(ctx, a)
}

// Validate implements admission.ValidatingInterface.
func (p *podNodeSelector) Validate(ctx context.Context, a *admission.Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if _, err := p.compatible(ctx, a, pod); err != nil {
		return err
	}
	allowed, bounded := p.allowed[a.Namespace]
	if !bounded {
		return nil
	}
	for k, v := range maps.All(pod.Spec.NodeSelector) {
		if value, ok := allowed[k]; !ok || value != v {
			return admission.Forbiddenf(a, "pod node label selector labels conflict with its namespace whitelist")
		}
	}
	return nil
}

// compatible returns the selector of the request's namespace, and an error if the pod's selector conflicts with
// it.
func (p *podNodeSelector) compatible(
	ctx context.Context, a *admission.Attributes, pod *corev1.Pod,
) (labels.Set, error) {
	selector, err := p.selectorOf(ctx, a.Namespace)
	if err == nil && labels.Conflicts(selector, pod.Spec.NodeSelector) {
		err = admission.Forbiddenf(a, "pod node label selector conflicts with its namespace node label selector")
	}
	return selector, err
}

// selectorOf returns the node selector of a namespace.
func (p *podNodeSelector) selectorOf(ctx context.Context, namespace string) (labels.Set, error) {
	ns, err := group.Namespaces(p.stores).GetShared(ctx, "", namespace)
	if apierrors.IsNotFound(err) {
		return nil, err
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	text, ok := ns.Annotations[nodeSelectorAnnotation]
	if !ok {
		return p.byDefault, nil
	}
	selector, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return selector, nil
}
