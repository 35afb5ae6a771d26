package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// podTopology copies the zone and region labels of the node to a pod when the pod is bound or created on the node,
// so that the downward API can provide them (KEP-4742). They replace labels of the same name.
//
// Options: the gate PodTopologyLabelsAdmission, on by default. Metrics: none. Order: any.
type podTopology struct {
	operations
	stores *group.Stores
}

func newPodTopology(d *Dependencies) admission.Interface {
	if !d.enabled("PodTopologyLabelsAdmission") {
		return &podTopology{}
	}
	return &podTopology{operations{admission.Create}, d.Stores}
}

// Admit implements admission.MutatingInterface.
func (p *podTopology) Admit(ctx context.Context, a *admission.Attributes) error {
	switch o := a.Object.(type) {
	case *corev1.Binding:
		if a.Subresource == "binding" && (o.Target.Kind == "" || o.Target.Kind == "Node") {
			return p.label(ctx, o, o.Target.Name)
		}
	case *corev1.Pod:
		if a.Subresource == "" {
			return p.label(ctx, o, o.Spec.NodeName)
		}
	}
	return nil
}

func (p *podTopology) label(ctx context.Context, o kind.Object, node string) error {
	if node == "" {
		return nil
	}
	n, err := group.Nodes(p.stores).Get(ctx, "", node)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil // the node does not exist yet
	}
	if err != nil {
		return err
	}
	labels := o.GetLabels()
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		value, ok := n.Labels[key]
		if !ok {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	o.SetLabels(labels)
	return nil
}
