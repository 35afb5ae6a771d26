package core

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/volume"
	"triplane.dev/kubeapi/specdiff"
)

// resizeStates are the states of a resource whose size changes.
var resizeStates = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

func validateClaim(_ context.Context, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	spec := field.NewPath("spec")
	if old == nil {
		return volume.ClaimSpec(&c.Spec, nil, spec)
	}
	return append(volume.ClaimSpec(&c.Spec, &old.Spec, spec), claimKept(c, old, spec)...)
}

func validateClaimStatus(c *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	if len(c.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
	}
	status := field.NewPath("status")
	for _, name := range sets.List(sets.KeySet(c.Status.Capacity)) {
		errs = append(errs, volume.Amount(c.Status.Capacity[name], status.Child("capacity").Key(string(name)))...)
	}
	path := status.Child("allocatedResourceStatuses")
	for _, name := range sets.List(sets.KeySet(c.Status.AllocatedResourceStatuses)) {
		errs = append(errs, claimResource(name, path)...)
		if !slices.Contains(resizeStates, c.Status.AllocatedResourceStatuses[name]) {
			errs = append(errs, field.NotSupported(path, name, resizeStates))
		}
	}
	path = status.Child("allocatedResources")
	for _, name := range sets.List(sets.KeySet(c.Status.AllocatedResources)) {
		if wrong := claimResource(name, path); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		errs = append(errs, volume.Amount(c.Status.AllocatedResources[name], path.Key(string(name)))...)
	}
	if h := c.Status.HealthStatus; h != nil {
		errs = append(errs, validateVolumeHealth(h.HealthConditions, status.Child("healthStatus", "healthConditions"))...)
	}
	return errs
}

func validateVolumeHealth(conditions []corev1.VolumeHealthCondition, path *field.Path) field.ErrorList {
	if len(conditions) > check.MaxHealthConditions {
		return field.ErrorList{field.TooMany(path, len(conditions), check.MaxHealthConditions)}
	}
	var errs field.ErrorList
	type key struct {
		Status corev1.VolumeHealthStatusType `json:"status"`
		Reason string                        `json:"reason"`
	}
	seen := sets.New[key]()
	for i, c := range conditions {
		at, id := path.Index(i), key{c.Status, c.Reason}
		if seen.Has(id) {
			errs = append(errs, field.Duplicate(at, id))
		}
		seen.Insert(id)
		if c.Status == "" {
			errs = append(errs, field.Required(at.Child("status"), ""))
		} else {
			errs = append(errs, check.OneOf(c.Status, at.Child("status"), corev1.VolumeHealthDataLoss,
				corev1.VolumeHealthDegraded, corev1.VolumeHealthInaccessible)...)
		}
		errs = append(errs, check.HealthTexts(c.Reason, c.Message, at)...)
	}
	return errs
}

// claimResource validates the name of something that a claim is given: storage, or what a driver
// has in its own domain.
func claimResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := check.QualifiedName(string(name), path); len(errs) > 0 {
		return errs
	}
	if name != corev1.ResourceStorage && podspec.Native(string(name)) {
		return field.ErrorList{field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage})}
	}
	return nil
}

// claimKept refuses changes of a claim but those that grow a bound one, or bind it.
func claimKept(c, old *corev1.PersistentVolumeClaim, spec *field.Path) field.ErrorList {
	now, before := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = now.VolumeName
	}
	errs := claimClassKept(c, old, now, before)
	if c.Status.Phase == corev1.ClaimBound {
		if size, ok := before.Resources.Requests[corev1.ResourceStorage]; ok && now.Resources.Requests != nil {
			now.Resources.Requests[corev1.ResourceStorage] = size
		}
		now.VolumeAttributesClassName = before.VolumeAttributesClassName
	}
	if check.Differs(now, before) {
		errs = append(errs, field.Forbidden(spec,
			fmt.Sprintf("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n%v",
				specdiff.Of(before, now))))
	}
	newSize, oldSize := c.Spec.Resources.Requests[corev1.ResourceStorage],
		old.Spec.Resources.Requests[corev1.ResourceStorage]
	if newSize.Cmp(oldSize) < 0 && newSize.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
		errs = append(errs, field.Forbidden(spec.Child("resources", "requests", "storage"),
			"field can not be less than status.capacity"))
	}
	errs = append(errs, check.Immutable(c.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	return append(errs, attributesKept(c, old, spec.Child("volumeAttributesClassName"))...)
}

// attributesKept refuses to take the class of attributes away from a volume that has one.
func attributesKept(c, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	class := c.Spec.VolumeAttributesClassName
	if c.Status.CurrentVolumeAttributesClassName == nil || ptr.Equal(class, old.Spec.VolumeAttributesClassName) ||
		ptr.Deref(class, "") != "" {
		return nil
	}
	none := "nil"
	if class != nil {
		none = "empty string"
	}
	return field.ErrorList{field.Forbidden(path,
		fmt.Sprintf("update to %s is forbidden when status.currentVolumeAttributesClassName is not nil", none))}
}

// claimClassKept lets the class of the old annotation be set in the field too, after which the annotation may be
// removed, and one be set where there was none; now and before are made equal for that.
func claimClassKept(c, old *corev1.PersistentVolumeClaim, now,
	before *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	const key = corev1.BetaStorageClassAnnotation
	was, had := old.Annotations[key]
	_, has := c.Annotations[key]
	set := before.StorageClassName == nil && now.StorageClassName != nil && (!had || *now.StorageClassName == was)
	if set {
		now.StorageClassName = nil
	}
	if (!set || !had || has) && c.Annotations[key] != was {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", key), c.Annotations[key],
			check.ImmutableMsg)}
	}
	return nil
}
