package slicenodes

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/group"
)

// Feature is the feature gate, and the feature that nodes declare.
const Feature = "DRANodeAllocatableResources"

// Validate returns the error that forbid makes of the reason if a node of a device that provides resources of nodes
// does not exist, or does not declare the feature.
func Validate(ctx context.Context, nodes group.Handle[*corev1.Node], s *resourcev1.ResourceSlice,
	forbid func(why string) error) error {
	all := sync.OnceValues(func() ([]*corev1.Node, error) { return nodes.ListShared(ctx, "") })
	perDevice := ptr.Deref(s.Spec.PerDeviceNodeSelection, false)
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if len(d.NodeAllocatableResources) == 0 {
			continue
		}
		name, selector := ptr.Deref(s.Spec.NodeName, ""), s.Spec.NodeSelector
		if perDevice {
			name, selector = ptr.Deref(d.NodeName, ""), d.NodeSelector
		}
		read := func() ([]*corev1.Node, error) { return selected(selector, all) }
		if name != "" {
			read = func() ([]*corev1.Node, error) {
				n, err := nodes.Get(ctx, "", name)
				return []*corev1.Node{n}, err
			}
		}
		of, err := read()
		if apierrors.IsNotFound(err) {
			return forbid(fmt.Sprintf("node %q not found for device %q", name, d.Name))
		}
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		for _, n := range of {
			if !slices.Contains(n.Status.DeclaredFeatures, Feature) {
				return forbid(fmt.Sprintf("node %q does not support %s feature", n.Name, Feature))
			}
		}
		if !perDevice {
			break // the other devices are on the same nodes
		}
	}
	return nil
}

// selected returns the nodes that a selector matches; nil matches all.
func selected(selector *corev1.NodeSelector, all func() ([]*corev1.Node, error)) ([]*corev1.Node, error) {
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
