package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/core/podspec"
	"triplane/kubeapi/show"
)

// persistentVolumeClaimKind declares persistent volume claims.
func persistentVolumeClaimKind() registry.Kind[*corev1.PersistentVolumeClaim] {
	type pvc = *corev1.PersistentVolumeClaim
	spec := field.NewPath("spec")
	return registry.Kind[pvc]{
		Hub: kind("PersistentVolumeClaim"), Plural: "persistentvolumeclaims", Singular: "persistentvolumeclaim", ShortNames: []string{"pvc"}, Namespaced: true,
		New:                      func() pvc { return &corev1.PersistentVolumeClaim{} },
		NewList:                  func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
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
		PrepareForUpdate: func(_ context.Context, c, old pvc) {
			c.Status = old.Status
			bothDataSources(&c.Spec)
		},
		Validate: func(_ context.Context, c pvc) field.ErrorList { return podspec.ValidateClaimSpec(&c.Spec, spec) },
		ValidateUpdate: func(_ context.Context, c, old pvc) field.ErrorList {
			return append(podspec.ValidateClaimSpec(&c.Spec, spec), claimKept(c, old, spec)...)
		},
		ResetFields: check.Reset(v1, "status"),
		Status: &registry.StatusSubresource[pvc]{
			PrepareForUpdate: func(_ context.Context, c, old pvc) { c.Spec = old.Spec },
			ValidateUpdate: func(_ context.Context, c, _ pvc) field.ErrorList {
				var errs field.ErrorList
				if len(c.Spec.AccessModes) == 0 {
					errs = append(errs, field.Required(field.NewPath("Spec", "accessModes"), ""))
				}
				for name, q := range c.Status.Capacity {
					errs = append(errs, podspec.Quantity(string(name), &q, field.NewPath("status", "capacity").Key(string(name)))...)
				}
				return errs
			},
			ResetFields: check.Reset(v1, "spec"),
		},
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
	}
}

// bothDataSources keeps dataSource and dataSourceRef in step where only one was
// given and it can be said in both.
func bothDataSources(s *corev1.PersistentVolumeClaimSpec) {
	if d := s.DataSource; d != nil && s.DataSourceRef == nil && !oldDataSource(d) {
		s.DataSource = nil
	}
	switch {
	case s.DataSource != nil && s.DataSourceRef == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: s.DataSource.APIGroup, Kind: s.DataSource.Kind, Name: s.DataSource.Name}
	case s.DataSourceRef != nil && s.DataSource == nil && (s.DataSourceRef.Namespace == nil || *s.DataSourceRef.Namespace == ""):
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: s.DataSourceRef.APIGroup, Kind: s.DataSourceRef.Kind, Name: s.DataSourceRef.Name}
	}
}

func claimCells(c *corev1.PersistentVolumeClaim) []any {
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
		c.Name, phase, c.Spec.VolumeName, capacity, modes, classOf(c.Annotations, show.Deref(c.Spec.StorageClassName)),
		orUnset(c.Spec.VolumeAttributesClassName), show.Since(c.CreationTimestamp), volumeMode(c.Spec.VolumeMode),
	}
}

// claimKept refuses changes of a claim but those that grow a bound one, or bind it.
func claimKept(c, old *corev1.PersistentVolumeClaim, spec *field.Path) field.ErrorList {
	now, before := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = now.VolumeName
	}
	var errs field.ErrorList
	newSize, oldSize := now.Resources.Requests[corev1.ResourceStorage], before.Resources.Requests[corev1.ResourceStorage]
	bound := c.Status.Phase == corev1.ClaimBound
	if bound {
		before.Resources.Requests = now.Resources.Requests
		status := old.Status.Capacity[corev1.ResourceStorage]
		if newSize.Cmp(oldSize) < 0 && newSize.Cmp(status) <= 0 {
			errs = append(errs, field.Forbidden(spec.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
		}
	}
	if before.VolumeAttributesClassName == nil || now.VolumeAttributesClassName != nil {
		before.VolumeAttributesClassName = now.VolumeAttributesClassName
	}
	if before.StorageClassName == nil {
		before.StorageClassName = now.StorageClassName
	}
	if check.Differs(now, before) {
		errs = append(errs, field.Forbidden(spec, fmt.Sprintf("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n%v",
			diff.Diff(check.GoNames(before), check.GoNames(now)))))
	}
	return append(errs, check.Immutable(c.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
}

// oldDataSource tells what dataSource may name; the rest is left to
// dataSourceRef, and forgotten here.
func oldDataSource(d *corev1.TypedLocalObjectReference) bool {
	group := show.Deref(d.APIGroup)
	return d.Kind == "PersistentVolumeClaim" && group == "" || d.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io"
}
