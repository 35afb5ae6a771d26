package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/core/podspec"
)

// podStatus is what kubelets and controllers write.
func podStatus() *registry.UpdateSubresource[pod] {
	return &registry.UpdateSubresource[pod]{
		PrepareForUpdate: func(_ context.Context, p, old pod) {
			p.Spec, p.DeletionTimestamp = old.Spec, old.DeletionTimestamp
			p.OwnerReferences = old.OwnerReferences
			if p.Status.QOSClass == "" {
				p.Status.QOSClass = old.Status.QOSClass
			}
		},
		ValidateUpdate: validatePodStatus,
		ResetFields:    check.ResetPaths(v1, check.Path{"metadata", "deletionTimestamp"}, check.Path{"metadata", "ownerReferences"}, check.Path{"spec"}),
	}
}

// firstIP keeps the one address and the list of addresses in step.
func firstIP(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

func validatePodStatus(_ context.Context, p, old pod) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("status")
	if n := p.Status.NominatedNodeName; n != "" {
		errs = append(errs, check.Subdomain(n, path.Child("nominatedNodeName"))...)
	}
	if old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "may not be changed directly"))
	}
	seen := sets.New[corev1.PodConditionType]()
	for i := range p.Status.Conditions {
		c, cp := &p.Status.Conditions[i], path.Child("conditions").Index(i)
		if seen.Has(c.Type) {
			errs = append(errs, field.Duplicate(cp.Child("type"), c.Type))
		}
		seen.Insert(c.Type)
	}
	if old.Status.QOSClass != "" && p.Status.QOSClass != old.Status.QOSClass {
		errs = append(errs, field.Invalid(path.Child("qosClass"), p.Status.QOSClass, check.ImmutableMsg))
	}
	return errs
}

// podEphemeralContainers adds containers for debugging to a running pod.
func podEphemeralContainers() *registry.UpdateSubresource[pod] {
	path := field.NewPath("spec", "ephemeralContainers")
	return &registry.UpdateSubresource[pod]{
		PrepareForUpdate: func(_ context.Context, p, old pod) {
			added := p.Spec.EphemeralContainers
			meta := p.ObjectMeta.ManagedFields
			version := p.ResourceVersion
			*p = *old.DeepCopy()
			p.Spec.EphemeralContainers, p.ManagedFields, p.ResourceVersion = added, meta, version
			podGeneration(p, old)
		},
		ValidateUpdate: func(ctx context.Context, p, old pod) field.ErrorList {
			errs := podspec.EphemeralContainers(&p.Spec, path)
			now := map[string]*corev1.EphemeralContainer{}
			for i := range p.Spec.EphemeralContainers {
				now[p.Spec.EphemeralContainers[i].Name] = &p.Spec.EphemeralContainers[i]
			}
			for i := range old.Spec.EphemeralContainers {
				o := &old.Spec.EphemeralContainers[i]
				switch n := now[o.Name]; {
				case n == nil:
					errs = append(errs, field.Forbidden(path, "existing ephemeral containers "+quoted([]string{o.Name})+" may not be removed\n"))
				case check.Differs(*n, *o):
					errs = append(errs, field.Forbidden(path, "existing ephemeral containers "+quoted([]string{o.Name})+" may not be changed\n"))
				}
			}
			return errs
		},
		ResetFields: check.Reset(v1, "status"),
	}
}

// podResize changes the CPU and memory of a pod's containers.
func podResize() *registry.UpdateSubresource[pod] {
	return &registry.UpdateSubresource[pod]{
		PrepareForUpdate: func(_ context.Context, p, old pod) {
			now := p.Spec
			if len(now.Containers) != len(old.Spec.Containers) || len(now.InitContainers) != len(old.Spec.InitContainers) {
				// Judged as it is: containers may not come or go.
				return
			}
			meta, version := p.ManagedFields, p.ResourceVersion
			*p = *old.DeepCopy()
			p.ManagedFields, p.ResourceVersion = meta, version
			takeResources(p.Spec.Containers, now.Containers)
			takeResources(p.Spec.InitContainers, now.InitContainers)
			podGeneration(p, old)
		},
		ValidateUpdate: validateResize,
		ResetFields:    check.ResetPaths(v1, check.Path{"status"}),
	}
}

func takeResources(to, from []corev1.Container) {
	for i := range to {
		for j := range from {
			if to[i].Name == from[j].Name {
				to[i].Resources, to[i].ResizePolicy = from[j].Resources, from[j].ResizePolicy
			}
		}
	}
}

func validateResize(ctx context.Context, p, old pod) field.ErrorList {
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "containers"), "containers may not be added or removed on resize")}
	}
	errs := validatePod(ctx, p)
	if !onlyComputeDiffers(p.Spec.Containers, old.Spec.Containers) || !onlyComputeDiffers(p.Spec.InitContainers, old.Spec.InitContainers) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "only cpu and memory resources are mutable"))
	}
	if !nodeResizes(old) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "Pod running on node without support for resize"))
	}
	if was := podspec.QOSClass(&old.Spec); was != podspec.QOSClass(&p.Spec) {
		errs = append(errs, field.Invalid(field.NewPath("spec"), was, "Pod QOS Class may not change as a result of resizing"))
	}
	return errs
}

// nodeResizes tells whether the pod's node changes resources in place: it tells
// the resources of running containers then.
func nodeResizes(p pod) bool {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

// onlyComputeDiffers tells whether containers have the same resources but for CPU
// and memory.
func onlyComputeDiffers(now, before []corev1.Container) bool {
	for i := range now {
		for _, l := range [][2]corev1.ResourceList{
			{now[i].Resources.Limits, before[i].Resources.Limits}, {now[i].Resources.Requests, before[i].Resources.Requests},
		} {
			a, b := l[0].DeepCopy(), l[1].DeepCopy()
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				delete(a, name)
				delete(b, name)
			}
			if check.Differs(a, b) {
				return false
			}
		}
	}
	return true
}
