package core

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

// persistentVolumeClaimKind declares persistent volume claims.
func persistentVolumeClaimKind() kind.Kind[*corev1.PersistentVolumeClaim] {
	type pvc = *corev1.PersistentVolumeClaim
	return kind.Kind[pvc]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"pvc"}},
		Representation: kind.Typed[pvc]{LateDefaults: true,
			OnRead: kind.OnRead[pvc]{Complete: func(c pvc) { copyDataSource(&c.Spec) }}},
		Write: kind.Write[pvc]{
			AllowUnconditionalUpdate: kind.Always,
			Default: func(c pvc) {
				podspec.DefaultClaimSpec(&c.Spec)
				c.Status.Phase = cmp.Or(c.Status.Phase, corev1.ClaimPending)
				podspec.RoundResources(c.Status.Capacity)
			},
			Prepare:  prepareClaim,
			Warnings: claimWarnings,
			Validate: validateClaim,
		},
		Delete: kind.Delete[pvc]{ReturnsObject: true},
		Columns: show.Columns(
			show.Text("Status", ".status.phase"),
			show.Field("Volume", "spec.volumeName"),
			show.Text("Capacity", ".status.capacity"),
			show.Text("Access Modes", ".status.accessModes"),
			show.Text("StorageClass", "StorageClass of the pvc"),
			show.FieldOr("VolumeAttributesClass", "spec.volumeAttributesClassName", show.Unset,
				"VolumeAttributesClass of the pvc"),
			show.Wide(show.FieldOr("VolumeMode", "spec.volumeMode", show.Unset))),
		Show:   kind.Show[pvc]{Cells: claimCells},
		Status: &kind.Subresource[pvc]{Validate: kind.Whole(validateClaimStatus)},
	}
}

// prepareClaim copies dataSource to dataSourceRef, or the reverse, where only one is set and both can express it.
func prepareClaim(_ context.Context, c, old *corev1.PersistentVolumeClaim) {
	if old == nil {
		c.Status = corev1.PersistentVolumeClaimStatus{} // the phase is a default, which is not stored
	}
	s, added := &c.Spec, old == nil || old.Spec.DataSource == nil
	if d := s.DataSource; d != nil && s.DataSourceRef == nil && added && !oldDataSource(d) {
		s.DataSource = nil
	}
	copyDataSource(s)
}

// copyDataSource fills the one of the two that is not there.
func copyDataSource(s *corev1.PersistentVolumeClaimSpec) {
	switch {
	case s.DataSource != nil && s.DataSourceRef == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: s.DataSource.APIGroup, Kind: s.DataSource.Kind,
			Name: s.DataSource.Name}
	case s.DataSourceRef != nil && s.DataSource == nil && ptr.Deref(s.DataSourceRef.Namespace, "") == "":
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: s.DataSourceRef.APIGroup, Kind: s.DataSourceRef.Kind,
			Name: s.DataSourceRef.Name}
	}
}

func claimCells(c *corev1.PersistentVolumeClaim, _ func(metav1.Time) string) []any {
	phase := string(c.Status.Phase)
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		modes = accessModes(c.Status.AccessModes)
		q := c.Status.Capacity[corev1.ResourceStorage]
		capacity = q.String()
	}
	return []any{phase, capacity, modes, classOf(c.Annotations, ptr.Deref(c.Spec.StorageClassName, ""))}
}

// claimWarnings returns warnings about a claim.
func claimWarnings(_ context.Context, c, _ *corev1.PersistentVolumeClaim) []string {
	var warnings []string
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		warnings = append(warnings, fmt.Sprintf("%s: deprecated since v1.8; use \"storageClassName\" attribute instead",
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(warnings, podwarnings.ClaimSpec(&c.Spec, field.NewPath("spec"))...)
}

// oldDataSource reports whether dataSource names a kind that it could name before
// there was dataSourceRef. Others are dropped.
func oldDataSource(d *corev1.TypedLocalObjectReference) bool {
	group := ptr.Deref(d.APIGroup, "")
	return d.Kind == "PersistentVolumeClaim" && group == "" || d.Kind == "VolumeSnapshot" &&
		group == "snapshot.storage.k8s.io"
}
