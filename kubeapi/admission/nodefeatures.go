package admission

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/admission/slicenodes"
	"triplane.dev/kubeapi/group"
)

// nodeFeatures rejects pod updates that need a feature which the node does not declare (KEP-5328), for example the
// resize of init containers with an older kubelet. It rejects ResourceSlices with devices that provide resources of
// nodes (nodeAllocatableResources) if one of the nodes does not declare that feature.
//
// Options: the gates NodeDeclaredFeatures and, for slices, DRANodeAllocatableResources. Metrics: none. Order: any.
type nodeFeatures struct {
	operations
	stores    *group.Stores
	framework *ndf.Framework
	release   *version.Version
	slices    bool
}

func newNodeFeatures(d *Dependencies) admission.Interface {
	if !d.enabled("NodeDeclaredFeatures") {
		return &nodeFeatures{}
	}
	return &nodeFeatures{operations{admission.Create, admission.Update}, d.Stores, ndf.New(features.AllFeatures),
		version.MajorMinor(1, 36), d.enabled(slicenodes.Feature)}
}

// Validate implements admission.ValidatingInterface.
func (f *nodeFeatures) Validate(ctx context.Context, a *admission.Attributes) error {
	switch o := a.Object.(type) {
	case *corev1.Pod:
		return f.validatePod(ctx, a, o)
	case *resourcev1.ResourceSlice:
		if f.slices {
			forbid := func(why string) error { return admission.Forbiddenf(a, "%s", why) }
			return slicenodes.Validate(ctx, group.Nodes(f.stores), o, forbid)
		}
	}
	return nil
}

func (f *nodeFeatures) validatePod(ctx context.Context, a *admission.Attributes, p *corev1.Pod) error {
	old, had := a.OldObject.(*corev1.Pod)
	if !had || a.Subresource != "" && a.Subresource != "resize" || p.Spec.NodeName == "" {
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
		return admission.Forbiddenf(a, "node %q not found", p.Spec.NodeName)
	}
	result, err := f.framework.MatchNode(needs, n)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if !result.IsMatch {
		return admission.Forbiddenf(a, "pod update requires features %s which are not available on node %q",
			strings.Join(result.UnsatisfiedRequirements, ", "), n.Name)
	}
	return nil
}
