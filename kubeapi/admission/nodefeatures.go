package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// nodeFeatures rejects pod updates that need a feature which the node does not declare (KEP-5328), for example the
// resize of init containers with an older kubelet.
//
// Options: the gate NodeDeclaredFeatures, on by default. Metrics: none. Order: any.
type nodeFeatures struct {
	operations
	stores    *group.Stores
	framework *ndf.Framework
	release   *version.Version
}

func newNodeFeatures(d *Dependencies) admission.Interface {
	if !d.enabled("NodeDeclaredFeatures") {
		return &nodeFeatures{}
	}
	return &nodeFeatures{operations{admission.Update}, d.Stores, ndf.New(features.AllFeatures),
		version.MajorMinor(1, 36)}
}

// Validate implements admission.ValidatingInterface.
func (f *nodeFeatures) Validate(ctx context.Context, a *admission.Attributes) error {
	p, ok := a.Object.(*corev1.Pod)
	old, had := a.OldObject.(*corev1.Pod)
	if !ok || !had || a.Subresource != "" && a.Subresource != "resize" || p.Spec.NodeName == "" {
		return nil
	}
	needs, err := f.framework.InferForPodUpdate(&ndf.PodInfo{Spec: &old.Spec, Status: &old.Status},
		&ndf.PodInfo{Spec: &p.Spec, Status: &p.Status}, f.release)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if needs.IsEmpty() {
		return nil
	}
	n, err := group.Nodes(f.stores).Get(ctx, "", p.Spec.NodeName)
	if err != nil {
		return forbidden(a, "node %q not found", p.Spec.NodeName)
	}
	result, err := f.framework.MatchNode(needs, n)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !result.IsMatch {
		return forbidden(a, "pod update requires features %s which are not available on node %q",
			strings.Join(result.UnsatisfiedRequirements, ", "), n.Name)
	}
	return nil
}
