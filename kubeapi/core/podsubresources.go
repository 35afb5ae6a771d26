package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/strategy"
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
			keepObservedGenerations(&p.Status, &old.Status)
		},
		ValidateUpdate: validatePodStatus,
		ResetFields:    strategy.ResetPaths(v1, strategy.Path{"metadata", "deletionTimestamp"}, strategy.Path{"metadata", "ownerReferences"}, strategy.Path{"spec"}),
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
			if mirrorPod(old) {
				return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
			}
			errs := podspec.EphemeralContainers(ctx, &p.Spec, path)
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
					errs = append(errs, field.Forbidden(path, "existing ephemeral containers "+quoted([]string{o.Name})+" may not be changed\n"+
						diff.Diff(o, n)))
				}
			}
			return errs
		},
		ResetFields: strategy.Reset(v1, "status"),
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
		ResetFields:    strategy.ResetPaths(v1, strategy.Path{"status"}),
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
	spec := field.NewPath("spec")
	switch {
	case mirrorPod(old):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	case len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers):
		return field.ErrorList{field.Forbidden(spec.Child("containers"), "containers may not be added or removed on resize")}
	}
	errs := validatePod(ctx, p)
	if was := podspec.QOSClass(&old.Spec); was != podspec.QOSClass(&p.Spec) {
		errs = append(errs, field.Invalid(spec, was, "Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(old) {
		errs = append(errs, field.Forbidden(spec, "Pod running on node without support for resize"))
	}
	errs = append(errs, removedResources(p.Spec.Containers, old.Spec.Containers, spec.Child("containers"))...)
	errs = append(errs, removedResources(p.Spec.InitContainers, old.Spec.InitContainers, spec.Child("initContainers"))...)
	if !onlyComputeDiffers(p.Spec.Containers, old.Spec.Containers) || !onlyComputeDiffers(p.Spec.InitContainers, old.Spec.InitContainers) {
		errs = append(errs, field.Forbidden(spec, "only cpu and memory resources are mutable"))
	}
	return errs
}

// mirrorPod tells whether a pod only shows what a kubelet runs by itself.
func mirrorPod(p pod) bool {
	_, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// removedResources refuses that a container no longer asks for what it asked for.
func removedResources(now, before []corev1.Container, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range before {
		path := list.Index(i).Child("resources")
		if removed(now[i].Resources.Requests, before[i].Resources.Requests) {
			errs = append(errs, field.Forbidden(path.Child("requests"), "resource requests cannot be removed"))
		}
		if removed(now[i].Resources.Limits, before[i].Resources.Limits) {
			errs = append(errs, field.Forbidden(path.Child("limits"), "resource limits cannot be removed"))
		}
	}
	return errs
}

func removed(now, before corev1.ResourceList) bool {
	for name := range before {
		if _, ok := now[name]; !ok {
			return true
		}
	}
	return false
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
		if check.Differs(now[i].ResizePolicy, before[i].ResizePolicy) {
			return false
		}
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
