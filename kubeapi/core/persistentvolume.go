package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

// persistentVolumeKind declares persistent volumes; movable says that the nodes that reach one may
// change.
func persistentVolumeKind(movable bool) kind.Kind[*corev1.PersistentVolume] {
	type pv = *corev1.PersistentVolume
	return kind.Kind[pv]{
		Names: kind.Names{ShortNames: []string{"pv"}},
		Write: kind.Write[pv]{
			AllowUnconditionalUpdate: kind.Always,
			Default:                  defaultVolume,
			Prepare:                  kind.AtCreation(prepareVolume),
			Validate: kind.OnCreate(validateVolume,
				func(v, old pv) field.ErrorList { return validateVolumeUpdate(movable, v, old) }),
			Warnings: func(_ context.Context, v, _ pv) []string { return podwarnings.PersistentVolume(v) },
		},
		Delete: kind.Delete[pv]{ReturnsObject: true},
		Columns: show.Columns(
			show.Text("Capacity", ".spec.capacity"),
			show.Text("Access Modes", ".spec.accessModes"),
			show.Field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
			show.Text("Status", ".status.phase"),
			show.Text("Claim", ".spec.claimRef"),
			show.Text("StorageClass", "StorageClass of the pv"),
			show.FieldOr("VolumeAttributesClass", "spec.volumeAttributesClassName", show.Unset,
				"VolumeAttributesClass of the pv"),
			show.Path("status.reason"),
			show.Wide(show.FieldOr("VolumeMode", "spec.volumeMode", show.Unset))),
		Show:   kind.Show[pv]{Cells: volumeCells},
		Status: &kind.Subresource[pv]{Prepare: keepTransition},
	}
}

func prepareVolume(_ context.Context, v *corev1.PersistentVolume) {
	v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: now()}
}

// keepTransition keeps the time at which a volume came to its phase, or notes it where the
// writer of another phase does not.
func keepTransition(_ context.Context, v, stored *corev1.PersistentVolume) {
	s, old := &v.Status, &stored.Status
	at := s.LastPhaseTransitionTime
	switch {
	case s.Phase == old.Phase && at == nil:
		s.LastPhaseTransitionTime = old.LastPhaseTransitionTime
	case s.Phase != old.Phase && (at == nil || at.Equal(old.LastPhaseTransitionTime)):
		s.LastPhaseTransitionTime = now()
	}
}

func defaultVolume(v *corev1.PersistentVolume) {
	if v.Status.Phase == "" {
		v.Status.Phase = corev1.VolumePending
	}
	if v.Spec.PersistentVolumeReclaimPolicy == "" {
		v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if v.Spec.VolumeMode == nil {
		v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeFilesystem)
	}
	podspec.RoundResources(v.Spec.Capacity)
	podspec.DefaultPersistentVolumeSource(&v.Spec.PersistentVolumeSource)
}

func volumeCells(v *corev1.PersistentVolume, _ func(metav1.Time) string) []any {
	claim := ""
	if r := v.Spec.ClaimRef; r != nil {
		claim = r.Namespace + "/" + r.Name
	}
	phase := string(v.Status.Phase)
	if v.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity := v.Spec.Capacity[corev1.ResourceStorage]
	return []any{
		capacity.String(), accessModes(v.Spec.AccessModes), phase, claim, classOf(v.Annotations, v.Spec.StorageClassName),
	}
}

func classOf(annotations map[string]string, name string) string {
	if c, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return c
	}
	return name
}
