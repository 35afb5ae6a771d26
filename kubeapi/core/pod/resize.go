package pod

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

// resize changes the CPU and memory of a pod, and of its containers and, with o.ResizeVolumes, its volumes.
func resize(o podspec.Options) *kind.Subresource[pod] {
	return &kind.Subresource[pod]{
		Prepare: func(_ context.Context, p, old pod) {
			now := p.Spec
			if len(now.Containers) != len(old.Spec.Containers) || len(now.InitContainers) != len(old.Spec.InitContainers) {
				// Validated as it is: containers may not come or go.
				return
			}
			resetTo(p, old)
			takeResources(p.Spec.Containers, now.Containers)
			takeResources(p.Spec.InitContainers, now.InitContainers)
			if o.PodLevel.Resize && (now.Resources != nil || o.PodLevel.Early) {
				p.Spec.Resources = now.Resources
			}
			if o.ResizeVolumes {
				p.Spec.Volumes = now.Volumes
			}
			podspec.DefaultPodLevelResources(&p.Spec, !o.PodLevel.Early)
		},
		Validate:         func(_ context.Context, p, old pod) field.ErrorList { return validateResize(o, p, old) },
		CountsGeneration: true,
		NoTable:          true,
	}
}

// takeResources takes the resources of containers of the same name, of several the last one's.
func takeResources(to, from []corev1.Container) {
	last := map[string]*corev1.Container{}
	for i := range from {
		last[from[i].Name] = &from[i]
	}
	for i := range to {
		if c := last[to[i].Name]; c != nil {
			to[i].Resources, to[i].ResizePolicy = c.Resources, c.ResizePolicy
		}
	}
}

func validateResize(o podspec.Options, p, old pod) field.ErrorList {
	spec := field.NewPath("spec")
	switch {
	case mirrorPod(old):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := validate(o, p)
	if was := o.QOSClass(&old.Spec); was != o.QOSClass(&p.Spec) {
		errs = append(errs, field.Invalid(spec, was, "Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(old) {
		errs = append(errs, field.Forbidden(spec, "Pod running on node without support for resize"))
	}
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(spec.Child("containers"), "containers may not be added or removed on resize"))
	}
	errs = append(errs, validatePodLevelResize(p.Spec.Resources, old.Spec.Resources, spec)...)
	errs = append(errs, removedResources(p.Spec.Containers, old.Spec.Containers, spec.Child("containers"))...)
	errs = append(errs, removedResources(p.Spec.InitContainers, old.Spec.InitContainers, spec.Child("initContainers"))...)
	if o.FixedInitContainers {
		errs = append(errs, fixedInitContainers(p.Spec.InitContainers, old.Spec.InitContainers, spec)...)
	}
	if !onlyComputeDiffers(p.Spec.Containers, old.Spec.Containers) || !onlyComputeDiffers(p.Spec.InitContainers,
		old.Spec.InitContainers) || emptied(p.Spec.Resources, old.Spec.Resources) {
		errs = append(errs, field.Forbidden(spec, "only cpu and memory resources are mutable"))
	}
	return append(errs, validateResizedVolumes(p.Spec.Volumes, old.Spec.Volumes, spec.Child("volumes"))...)
}

// validateResizedVolumes refuses all changes but of limits of volumes in memory.
func validateResizedVolumes(now, before []corev1.Volume, path *field.Path) field.ErrorList {
	if len(now) != len(before) {
		return field.ErrorList{field.Forbidden(path, "volumes may not be added or removed on resize")}
	}
	var errs field.ErrorList
	for i := range now {
		if now[i].Name != before[i].Name {
			errs = append(errs, field.Forbidden(path.Index(i).Child("name"),
				"volumes may not be renamed or reordered on resize"))
		} else if err := validateResizedVolume(now[i], before[i], path.Index(i)); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func validateResizedVolume(now, before corev1.Volume, path *field.Path) *field.Error {
	limit := path.Child("emptyDir", "sizeLimit")
	is, was := sizeLimit(now), sizeLimit(before)
	if now.EmptyDir != nil && before.EmptyDir != nil {
		same := *now.EmptyDir
		same.SizeLimit = before.EmptyDir.SizeLimit
		now.EmptyDir = &same
	}
	switch {
	case check.Differs(now, before):
		return field.Forbidden(path, "only sizeLimit of memory-backed emptyDir volumes is mutable on resize")
	case is.IsZero() != was.IsZero():
		return field.Forbidden(limit, "adding or removing sizeLimit on an existing volume is not allowed")
	case is.Cmp(was) != 0 && now.EmptyDir.Medium != corev1.StorageMediumMemory:
		return field.Forbidden(limit, "sizeLimit is only mutable for memory-backed emptyDir volumes")
	}
	return nil
}

// sizeLimit is the limit of an empty directory, 0 if it has none.
func sizeLimit(v corev1.Volume) resource.Quantity {
	if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
		return resource.Quantity{}
	}
	return *v.EmptyDir.SizeLimit
}

// fixedInitContainers refuses other resources of init containers that are no sidecars.
func fixedInitContainers(now, before []corev1.Container, spec *field.Path) field.ErrorList {
	for i := range before {
		sidecar := before[i].RestartPolicy != nil && *before[i].RestartPolicy == corev1.ContainerRestartPolicyAlways
		if !sidecar && check.Differs(now[i].Resources, before[i].Resources) {
			return field.ErrorList{field.Forbidden(spec, "resources for non-sidecar init containers are immutable")}
		}
	}
	return nil
}

// validatePodLevelResize validates a change of the resources of the pod as a whole.
func validatePodLevelResize(now, before *corev1.ResourceRequirements, spec *field.Path) field.ErrorList {
	switch {
	case now == nil && before == nil, emptied(now, before):
		return nil
	case now == nil:
		return field.ErrorList{field.Forbidden(spec.Child("resources"), "pod-level resources cannot be removed")}
	case before == nil:
		before = &corev1.ResourceRequirements{}
	}
	errs := removedRequirements(now, before, "pod-level ", spec.Child("resources"))
	if otherThanCompute(now, before) {
		errs = append(errs, field.Forbidden(spec, "only cpu and memory resources are mutable at pod-level"))
	}
	return errs
}

// emptied reports whether one has no resources and the other empty ones.
func emptied(now, before *corev1.ResourceRequirements) bool {
	return (now == nil) != (before == nil) && podspec.Empty(cmp.Or(now, before))
}

// mirrorPod reports whether a pod only shows what a kubelet runs by itself.
func mirrorPod(p pod) bool {
	_, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// removedResources refuses that a container no longer asks for what it asked for.
func removedResources(now, before []corev1.Container, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range before {
		errs = append(errs, removedRequirements(&now[i].Resources, &before[i].Resources, "",
			list.Index(i).Child("resources"))...)
	}
	return errs
}

// removedRequirements calls what is removed a resource of the level.
func removedRequirements(now, before *corev1.ResourceRequirements, level string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if removed(now.Requests, before.Requests) {
		errs = append(errs, field.Forbidden(path.Child("requests"), level+"resource requests cannot be removed"))
	}
	if removed(now.Limits, before.Limits) {
		errs = append(errs, field.Forbidden(path.Child("limits"), level+"resource limits cannot be removed"))
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

// nodeResizes reports whether the pod's node changes resources in place: its kubelet reports
// the resources of running containers then.
func nodeResizes(p pod) bool {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

// onlyComputeDiffers reports whether containers have the same resources but for CPU
// and memory.
func onlyComputeDiffers(now, before []corev1.Container) bool {
	for i := range now {
		if check.Differs(now[i].ResizePolicy, before[i].ResizePolicy) ||
			otherThanCompute(&now[i].Resources, &before[i].Resources) {
			return false
		}
	}
	return true
}

// otherThanCompute reports whether more than CPU and memory differs.
func otherThanCompute(now, before *corev1.ResourceRequirements) bool {
	for _, l := range [][2]corev1.ResourceList{{now.Limits, before.Limits}, {now.Requests, before.Requests}} {
		a, b := l[0].DeepCopy(), l[1].DeepCopy()
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			delete(a, name)
			delete(b, name)
		}
		if check.Differs(a, b) {
			return true
		}
	}
	return false
}
