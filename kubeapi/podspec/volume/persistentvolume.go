package volume

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

// PersistentVolumeSpec validates the spec of a persistent volume.
func PersistentVolumeSpec(s *corev1.PersistentVolumeSpec, spec *field.Path) field.ErrorList {
	v := &checker{}
	v.volumeAccess(s.AccessModes, spec.Child("accessModes"))
	v.volumeCapacity(s.Capacity, spec.Child("capacity"))
	if s.PersistentVolumeReclaimPolicy != "" {
		v.Add(check.OneOf(s.PersistentVolumeReclaimPolicy, spec.Child("persistentVolumeReclaimPolicy"),
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle,
			corev1.PersistentVolumeReclaimRetain)...)
	}
	if s.NodeAffinity != nil {
		v.volumeNodeAffinity(s.NodeAffinity, spec.Child("nodeAffinity"))
	}
	v.oneSource(v.persistentSources(s, spec), spec, "flexVolume")
	v.volumeTogether(s, spec)
	if s.StorageClassName != "" {
		v.Subdomain(s.StorageClassName, spec.Child("storageClassName"))
	}
	if s.VolumeMode != nil {
		v.Add(check.OneOf(*s.VolumeMode, spec.Child("volumeMode"), corev1.PersistentVolumeBlock,
			corev1.PersistentVolumeFilesystem)...)
	}
	if n := s.VolumeAttributesClassName; n != nil {
		v.volumeAttributesClass(*n, s.CSI != nil, spec)
	}
	return v.Errors
}

// InlineVolumeSpec validates the spec of a volume that an attachment carries in
// itself: one of a CSI driver, with nothing that binds, keeps or places it.
func InlineVolumeSpec(s *corev1.PersistentVolumeSpec, spec *field.Path) field.ErrorList {
	v := &checker{}
	const without = "may not be specified in the context of inline volumes"
	v.Forbid(s.ClaimRef != nil, spec.Child("claimRef"), without)
	v.Forbid(len(s.Capacity) > 0, spec.Child("capacity"), without)
	if s.CSI == nil {
		v.Add(field.Required(spec.Child("csi"), "has to be specified in the context of inline volumes"))
	}
	v.volumeAccess(s.AccessModes, spec.Child("accessModes"))
	v.Forbid(s.PersistentVolumeReclaimPolicy != "" &&
		s.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain,
		spec.Child("persistentVolumeReclaimPolicy"), "may only be Retain in the context of inline volumes")
	v.Forbid(s.NodeAffinity != nil, spec.Child("nodeAffinity"), without)
	v.oneSource(v.persistentSources(s, spec), spec, "flexVolume")
	v.volumeTogether(s, spec)
	v.Forbid(s.StorageClassName != "", spec.Child("storageClassName"), without)
	v.Forbid(s.VolumeMode != nil && *s.VolumeMode != corev1.PersistentVolumeFilesystem,
		spec.Child("volumeMode"), "may not specify volumeMode other than Filesystem in the context of inline volumes")
	return v.Errors
}

func (v *checker) volumeAccess(modes []corev1.PersistentVolumeAccessMode, path *field.Path) {
	if len(modes) == 0 {
		v.Add(field.Required(path, ""))
	}
	v.Add(accessModes(modes, path)...)
}

// Amount validates how much a volume or a claim has of something.
func Amount(q resource.Quantity, path *field.Path) field.ErrorList {
	if q.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, q.Value(), "must be a valid resource quantity")}
}

// volumeCapacity requires how much the volume holds, and nothing else.
func (v *checker) volumeCapacity(l corev1.ResourceList, path *field.Path) {
	if len(l) == 0 {
		v.Add(field.Required(path, ""))
	}
	names := sets.List(sets.KeySet(l))
	if !slices.Equal(names, []corev1.ResourceName{corev1.ResourceStorage}) {
		v.Add(field.NotSupported(path, l, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range names {
		q, p := l[name], path.Key(string(name))
		v.Add(Amount(q, p)...)
		if q.Sign() <= 0 {
			v.Add(field.Invalid(p, q.String(), "must be greater than zero"))
		}
	}
}

func (v *checker) volumeNodeAffinity(a *corev1.VolumeNodeAffinity, path *field.Path) {
	if a.Required == nil {
		v.Add(field.Required(path.Child("required"), "must specify required node constraints"))
		return
	}
	v.Add(check.NodeSelector(a.Required, path.Child("required"))...)
}

// volumeTogether validates what a source asks of other fields.
func (v *checker) volumeTogether(s *corev1.PersistentVolumeSpec, spec *field.Path) {
	if s.HostPath != nil && path.Clean(s.HostPath.Path) == "/" &&
		s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		v.Add(field.Forbidden(spec.Child("persistentVolumeReclaimPolicy"),
			"may not be 'recycle' for a hostPath mount of '/'"))
	}
}

func (v *checker) volumeAttributesClass(name string, csi bool, spec *field.Path) {
	path := spec.Child("volumeAttributesClassName")
	if name == "" {
		v.Add(field.Required(path, "an empty string is disallowed"))
	} else {
		v.Subdomain(name, path)
	}
	if !csi {
		v.Add(field.Required(spec.Child("csi"), "has to be specified when using volumeAttributesClassName"))
	}
}
