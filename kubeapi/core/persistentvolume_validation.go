package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec/volume"
	"triplane.dev/kubeapi/specdiff"
)

func validateVolume(v *corev1.PersistentVolume) field.ErrorList {
	return append(validateVolumeSpec(v), validateMountOptions(v)...)
}

func validateVolumeSpec(v *corev1.PersistentVolume) field.ErrorList {
	return volume.PersistentVolumeSpec(&v.Spec, field.NewPath("spec"))
}

// validateMountOptions forbids the annotation that the field mountOptions has replaced, on volumes whose source
// cannot be mounted with options. The field is not validated.
func validateMountOptions(v *corev1.PersistentVolume) field.ErrorList {
	if _, ok := v.Annotations[corev1.MountOptionAnnotation]; !ok || takesMountOptions(&v.Spec.PersistentVolumeSource) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionAnnotation),
		"may not specify mount options for this volume type")}
}

func takesMountOptions(s *corev1.PersistentVolumeSource) bool {
	return s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil ||
		s.RBD != nil || s.Quobyte != nil || s.CephFS != nil || s.ISCSI != nil || s.Cinder != nil ||
		s.AzureFile != nil || s.VsphereVolume != nil || s.PhotonPersistentDisk != nil || s.AzureDisk != nil
}

// validateVolumeUpdate refuses changes of what the volume is: its source, its
// mode, and, unless it is movable, the nodes that reach it once they are known.
func validateVolumeUpdate(movable bool, v, old *corev1.PersistentVolume) field.ErrorList {
	// An invalid spec is refused for itself and as a change, as kube-apiserver
	// has it: each error appears twice.
	errs := append(validateVolume(v), validateVolumeSpec(v)...)
	spec := field.NewPath("spec")
	if now, was := withoutNewExpandSecret(v, old), old.Spec.PersistentVolumeSource; check.Differs(now, was) {
		errs = append(errs, field.Forbidden(spec.Child("persistentvolumesource"),
			"spec.persistentvolumesource is immutable after creation\n"+specdiff.Of(was, now)))
	}
	errs = append(errs, check.Immutable(v.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	if !movable && old.Spec.NodeAffinity != nil &&
		check.Differs(v.Spec.NodeAffinity, currentLabels(old.Spec.NodeAffinity, v.Spec.NodeAffinity)) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), v.Spec.NodeAffinity,
			"field is immutable, except for updating from beta label to GA"))
	}
	if old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(spec.Child("volumeAttributesClassName"),
			"update from non-nil value to nil is forbidden"))
	}
	return errs
}

// withoutNewExpandSecret returns the source of v but for the secret for expansion,
// which a volume of a CSI driver may get later.
func withoutNewExpandSecret(v, old *corev1.PersistentVolume) corev1.PersistentVolumeSource {
	source, was := v.Spec.PersistentVolumeSource, old.Spec.CSI
	if source.CSI != nil && was != nil && was.ControllerExpandSecretRef == nil {
		csi := *source.CSI
		csi.ControllerExpandSecretRef = nil
		source.CSI = &csi
	}
	return source
}

// stableLabels are the names that beta labels of nodes have had since.
var stableLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
}

// currentLabels returns old with the beta labels renamed that now has renamed.
func currentLabels(old, now *corev1.VolumeNodeAffinity) *corev1.VolumeNodeAffinity {
	old = old.DeepCopy()
	if old.Required == nil || now == nil || now.Required == nil ||
		len(now.Required.NodeSelectorTerms) != len(old.Required.NodeSelectorTerms) {
		return old
	}
	for i := range old.Required.NodeSelectorTerms {
		was, is := old.Required.NodeSelectorTerms[i].MatchExpressions, now.Required.NodeSelectorTerms[i].MatchExpressions
		for j := range min(len(was), len(is)) {
			if is[j].Key == stableLabels[was[j].Key] {
				was[j].Key = is[j].Key
			}
		}
	}
	return old
}
