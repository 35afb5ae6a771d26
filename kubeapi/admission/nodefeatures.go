package admission

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// nodeFeatures rejects pod updates that need a feature which the node does not declare (KEP-5328), for example the
// resize of init containers with an older kubelet. It rejects ResourceSlices with devices that provide resources of
// nodes (nodeAllocatableResources) if one of the nodes does not declare that feature.
//
// Options: the gate NodeDeclaredFeatures, on by default; DRANodeAllocatableResources for slices, off by default.
// Metrics: none. Order: any.
type nodeFeatures struct {
	operations
	stores    *group.Stores
	framework *ndf.Framework
	release   *version.Version
	slices    bool
}

const allocatableFeature = "DRANodeAllocatableResources"

func newNodeFeatures(d *Dependencies) admission.Interface {
	if !d.enabled("NodeDeclaredFeatures") {
		return &nodeFeatures{}
	}
	return &nodeFeatures{operations{admission.Create, admission.Update}, d.Stores, ndf.New(features.AllFeatures),
		version.MajorMinor(1, 36), d.enabled(allocatableFeature)}
}

// Validate implements admission.ValidatingInterface.
func (f *nodeFeatures) Validate(ctx context.Context, a *admission.Attributes) error {
	switch o := a.Object.(type) {
	case *corev1.Pod:
		return f.validatePod(ctx, a, o)
	case *resourcev1.ResourceSlice:
		if f.slices {
			return f.validateSlice(ctx, a, o)
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

func (f *nodeFeatures) validateSlice(ctx context.Context, a *admission.Attributes, s *resourcev1.ResourceSlice) error {
	all := sync.OnceValues(func() ([]*corev1.Node, error) { return group.Nodes(f.stores).ListShared(ctx, "") })
	perDevice := ptr.Deref(s.Spec.PerDeviceNodeSelection, false)
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if len(d.NodeAllocatableResources) == 0 {
			continue
		}
		name, selector := s.Spec.NodeName, s.Spec.NodeSelector
		if perDevice {
			name, selector = d.NodeName, d.NodeSelector
		}
		nodes, err := f.nodesOf(ctx, ptr.Deref(name, ""), selector, all)
		if apierrors.IsNotFound(err) {
			return forbidden(a, "node %q not found for device %q", *name, d.Name)
		}
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		for _, n := range nodes {
			if !slices.Contains(n.Status.DeclaredFeatures, allocatableFeature) {
				return forbidden(a, "node %q does not support %s feature", n.Name, allocatableFeature)
			}
		}
		if !perDevice {
			return nil // the other devices are on the same nodes
		}
	}
	return nil
}

// nodesOf returns the node with a name, else those that the selector selects of all, else all.
func (f *nodeFeatures) nodesOf(ctx context.Context, name string, selector *corev1.NodeSelector,
	all func() ([]*corev1.Node, error)) ([]*corev1.Node, error) {
	if name != "" {
		n, err := group.Nodes(f.stores).Get(ctx, "", name)
		return []*corev1.Node{n}, err
	}
	nodes, err := all()
	if err != nil || selector == nil {
		return nodes, err
	}
	selects, err := nodeaffinity.NewNodeSelector(selector)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !selects.Match(n) }), nil
}
