package core

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/specdiff"
	"triplane/kubeapi/strategy"
)

// persistentVolumeClaimKind declares persistent volume claims.
func persistentVolumeClaimKind() registry.Kind[*corev1.PersistentVolumeClaim] {
	type pvc = *corev1.PersistentVolumeClaim
	spec := field.NewPath("spec")
	return registry.Kind[pvc]{
		Hub: kind("PersistentVolumeClaim"), Namespaced: true,
		New:     func() pvc { return &corev1.PersistentVolumeClaim{} },
		NewList: func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		Names:   registry.Names{Plural: "persistentvolumeclaims", Singular: "persistentvolumeclaim", ShortNames: []string{"pvc"}},
		Write: registry.Write[pvc]{
			AllowUnconditionalUpdate: true,
			Default: func(c pvc) {
				podspec.DefaultClaimSpec(&c.Spec)
				if c.Status.Phase == "" {
					c.Status.Phase = corev1.ClaimPending
				}
				podspec.RoundResources(c.Status.Capacity)
			},
			PrepareForCreate: func(_ context.Context, c pvc) {
				c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
				bothDataSources(&c.Spec)
			},
			Warnings: claimWarnings,
			PrepareForUpdate: func(_ context.Context, c, old pvc) {
				c.Status = old.Status
				bothDataSources(&c.Spec)
			},
			Validate: func(_ context.Context, c pvc) field.ErrorList { return podspec.ValidateClaimSpec(&c.Spec, spec) },
			ValidateUpdate: func(_ context.Context, c, old pvc) field.ErrorList {
				return append(podspec.ValidateClaimSpec(&c.Spec, spec), claimKept(c, old, spec)...)
			},
			ResetFields: strategy.Reset(v1, "status"),
		},
		Delete: registry.Delete[pvc]{ReturnsObject: true},
		Show: registry.Show[pvc]{
			Columns: []registry.Column{
				show.Name(), show.Text("Status", show.Doc(corev1.PersistentVolumeClaimStatus{}, "phase")),
				show.Text("Volume", show.Doc(corev1.PersistentVolumeClaimSpec{}, "volumeName")),
				show.Text("Capacity", show.Doc(corev1.PersistentVolumeClaimStatus{}, "capacity")),
				show.Text("Access Modes", show.Doc(corev1.PersistentVolumeClaimStatus{}, "accessModes")),
				show.Text("StorageClass", "StorageClass of the pvc"),
				show.Text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"), show.Age(),
				show.Wide(show.Text("VolumeMode", show.Doc(corev1.PersistentVolumeClaimSpec{}, "volumeMode"))),
			},
			Cells: claimCells,
		},
		Status: &registry.StatusSubresource[pvc]{
			PrepareForUpdate: func(_ context.Context, c, old pvc) { c.Spec = old.Spec },
			ValidateUpdate:   func(_ context.Context, c, _ pvc) field.ErrorList { return validateClaimStatus(c) },
			ResetFields:      strategy.Reset(v1, "spec"),
		},
	}
}

// bothDataSources keeps dataSource and dataSourceRef in step where only one was
// given and it can be said in both.
func bothDataSources(s *corev1.PersistentVolumeClaimSpec) {
	if d := s.DataSource; d != nil && s.DataSourceRef == nil && !oldDataSource(d) {
		s.DataSource = nil
	}
	if r := s.DataSourceRef; r != nil && ptr.Deref(r.Namespace, "") != "" {
		// Sources of other namespaces are off unless asked for.
		s.DataSource, s.DataSourceRef = nil, nil
	}
	switch {
	case s.DataSource != nil && s.DataSourceRef == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: s.DataSource.APIGroup, Kind: s.DataSource.Kind, Name: s.DataSource.Name}
	case s.DataSourceRef != nil && s.DataSource == nil:
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: s.DataSourceRef.APIGroup, Kind: s.DataSourceRef.Kind, Name: s.DataSourceRef.Name}
	}
}

func claimCells(c *corev1.PersistentVolumeClaim, since func(metav1.Time) string) []any {
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
	return []any{
		c.Name, phase, c.Spec.VolumeName, capacity, modes, classOf(c.Annotations, ptr.Deref(c.Spec.StorageClassName, "")),
		orUnset(c.Spec.VolumeAttributesClassName), since(c.CreationTimestamp), volumeMode(c.Spec.VolumeMode),
	}
}

// resizeStates are the states of a resource whose size changes.
var resizeStates = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

func validateClaimStatus(c *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	if len(c.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
	}
	status := field.NewPath("status")
	for name, q := range c.Status.Capacity {
		errs = append(errs, podspec.Quantity(string(name), &q, status.Child("capacity").Key(string(name)))...)
	}
	path := status.Child("allocatedResourceStatuses")
	for _, name := range sets.List(sets.KeySet(c.Status.AllocatedResourceStatuses)) {
		if name != corev1.ResourceStorage {
			errs = append(errs, field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage}))
		}
		if !slices.Contains(resizeStates, c.Status.AllocatedResourceStatuses[name]) {
			errs = append(errs, field.NotSupported(path, name, resizeStates))
		}
	}
	path = status.Child("allocatedResources")
	for _, name := range sets.List(sets.KeySet(c.Status.AllocatedResources)) {
		if name != corev1.ResourceStorage {
			errs = append(errs, field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage}))
			continue
		}
		q := c.Status.AllocatedResources[name]
		errs = append(errs, podspec.Quantity(string(name), &q, path.Key(string(name)))...)
	}
	return errs
}

// claimWarnings returns warnings about a claim.
func claimWarnings(_ context.Context, c, _ *corev1.PersistentVolumeClaim) []string {
	var warnings []string
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		warnings = append(warnings, fmt.Sprintf("%s: deprecated since v1.8; use \"storageClassName\" attribute instead",
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(warnings, podspec.ClaimSpecWarnings(&c.Spec, field.NewPath("spec"))...)
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
		if now.VolumeAttributesClassName != nil {
			now.VolumeAttributesClassName = before.VolumeAttributesClassName
		}
	}
	if check.Differs(now, before) {
		errs = append(errs, field.Forbidden(spec, fmt.Sprintf("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n%v",
			specdiff.Of(before, now))))
	}
	newSize, oldSize := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if newSize.Cmp(oldSize) < 0 && newSize.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
		errs = append(errs, field.Forbidden(spec.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	errs = append(errs, check.Immutable(c.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	if old.Spec.VolumeAttributesClassName != nil && c.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(spec.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

// claimClassKept lets the class move from the old annotation to the field, and
// one be set where there was none; now and before are made equal for that.
func claimClassKept(c, old *corev1.PersistentVolumeClaim, now, before *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	const key = corev1.BetaStorageClassAnnotation
	was, had := old.Annotations[key]
	if _, has := c.Annotations[key]; had && !has && before.StorageClassName == nil && ptr.Deref(now.StorageClassName, "") == was && now.StorageClassName != nil {
		now.StorageClassName = nil
		return nil
	}
	if !had && before.StorageClassName == nil && now.StorageClassName != nil {
		now.StorageClassName = nil
	}
	if c.Annotations[key] != was {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(key), c.Annotations[key], check.ImmutableMsg)}
	}
	return nil
}

// oldDataSource validates what dataSource names; the rest is left to
// dataSourceRef, and forgotten here.
func oldDataSource(d *corev1.TypedLocalObjectReference) bool {
	group := ptr.Deref(d.APIGroup, "")
	return d.Kind == "PersistentVolumeClaim" && group == "" || d.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
}
