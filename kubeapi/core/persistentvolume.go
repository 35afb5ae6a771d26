package core

import (
	"context"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

// persistentVolumeKind declares persistent volumes.
func persistentVolumeKind() registry.Kind[*corev1.PersistentVolume] {
	type pv = *corev1.PersistentVolume
	return registry.Kind[pv]{
		Hub:     kind("PersistentVolume"),
		New:     func() pv { return &corev1.PersistentVolume{} },
		NewList: func() runtime.Object { return &corev1.PersistentVolumeList{} },
		Names:   registry.Names{Plural: "persistentvolumes", Singular: "persistentvolume", ShortNames: []string{"pv"}},
		Write: registry.Write[pv]{
			AllowUnconditionalUpdate: true,
			Default:                  defaultVolume,
			PrepareForCreate: func(_ context.Context, v pv) {
				v.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: now()}
			},
			PrepareForUpdate: func(_ context.Context, v, old pv) { v.Status = old.Status },
			Validate:         func(_ context.Context, v pv) field.ErrorList { return validateVolume(v) },
			ValidateUpdate: func(_ context.Context, v, old pv) field.ErrorList {
				errs := validateVolume(v)
				source := field.NewPath("spec", "persistentvolumesource")
				if check.Differs(v.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
					errs = append(errs, field.Forbidden(source, "spec.persistentvolumesource is immutable after creation"))
				}
				return append(errs, check.Immutable(v.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
			},
			ResetFields: strategy.Reset(v1, "status"),
		},
		Delete: registry.Delete[pv]{ReturnsObject: true},
		Show: registry.Show[pv]{
			Columns: []registry.Column{
				show.Name(), show.Text("Capacity", show.Doc(corev1.PersistentVolumeSpec{}, "capacity")),
				show.Text("Access Modes", show.Doc(corev1.PersistentVolumeSpec{}, "accessModes")),
				show.Text("Reclaim Policy", show.Doc(corev1.PersistentVolumeSpec{}, "persistentVolumeReclaimPolicy")),
				show.Text("Status", show.Doc(corev1.PersistentVolumeStatus{}, "phase")),
				show.Text("Claim", show.Doc(corev1.PersistentVolumeSpec{}, "claimRef")),
				show.Text("StorageClass", "StorageClass of the pv"),
				show.Text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
				show.Text("Reason", show.Doc(corev1.PersistentVolumeStatus{}, "reason")), show.Age(),
				show.Wide(show.Text("VolumeMode", show.Doc(corev1.PersistentVolumeSpec{}, "volumeMode"))),
			},
			Cells: volumeCells,
		},
		Select: registry.Select[pv]{
			Fields: []registry.SelectableField[pv]{{Path: "name", Get: func(v pv) string { return v.Name }}},
		},
		Status: &registry.StatusSubresource[pv]{
			PrepareForUpdate: func(_ context.Context, v, old pv) {
				v.Spec = old.Spec
				if v.Status.Phase != old.Status.Phase && v.Status.LastPhaseTransitionTime.Equal(old.Status.LastPhaseTransitionTime) {
					v.Status.LastPhaseTransitionTime = now()
				}
			},
			ResetFields: strategy.Reset(v1, "spec"),
		},
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
	if s := v.Spec.HostPath; s != nil {
		podspec.DefaultHostPath(s)
	}
	if s := v.Spec.ISCSI; s != nil && s.ISCSIInterface == "" {
		s.ISCSIInterface = "default"
	}
	if s := v.Spec.AzureDisk; s != nil {
		podspec.DefaultAzureDisk(s)
	}
	if s := v.Spec.RBD; s != nil {
		if s.RBDPool == "" {
			s.RBDPool = "rbd"
		}
		if s.RadosUser == "" {
			s.RadosUser = "admin"
		}
		if s.Keyring == "" {
			s.Keyring = "/etc/ceph/keyring"
		}
	}
}

func volumeCells(v *corev1.PersistentVolume, since func(metav1.Time) string) []any {
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
		v.Name, capacity.String(), accessModes(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		classOf(v.Annotations, v.Spec.StorageClassName), orUnset(v.Spec.VolumeAttributesClassName), v.Status.Reason,
		since(v.CreationTimestamp), volumeMode(v.Spec.VolumeMode),
	}
}

func classOf(annotations map[string]string, name string) string {
	if c, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return c
	}
	return name
}

func orUnset(s *string) string {
	if s == nil {
		return "<unset>"
	}
	return *s
}

func volumeMode(m *corev1.PersistentVolumeMode) string {
	if m == nil {
		return "<unset>"
	}
	return string(*m)
}

func validateVolume(v *corev1.PersistentVolume) field.ErrorList {
	spec := field.NewPath("spec")
	errs := podspec.AccessModes(v.Spec.AccessModes, spec.Child("accessModes"))
	if len(v.Spec.Capacity) == 0 {
		errs = append(errs, field.Required(spec.Child("capacity"), ""))
	}
	if _, ok := v.Spec.Capacity[corev1.ResourceStorage]; !ok || len(v.Spec.Capacity) > 1 {
		errs = append(errs, field.NotSupported(spec.Child("capacity"), resourceNames(v.Spec.Capacity), []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for name, q := range v.Spec.Capacity {
		p := spec.Child("capacity").Key(string(name))
		errs = append(errs, podspec.ResourceName(string(name), p)...)
		if q.Sign() <= 0 {
			errs = append(errs, field.Invalid(p, q.String(), "must be greater than zero"))
		}
	}
	if p := v.Spec.PersistentVolumeReclaimPolicy; p != "" {
		errs = append(errs, check.OneOf(p, spec.Child("persistentVolumeReclaimPolicy"), corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	if a := v.Spec.NodeAffinity; a != nil {
		if a.Required == nil {
			errs = append(errs, field.Required(spec.Child("nodeAffinity", "required"), "must specify required node constraints"))
		} else {
			errs = append(errs, podspec.NodeSelector(a.Required, spec.Child("nodeAffinity", "required"))...)
		}
	}
	errs = append(errs, volumeSource(&v.Spec, spec)...)
	if n := v.Spec.StorageClassName; n != "" {
		errs = append(errs, check.Subdomain(n, spec.Child("storageClassName"))...)
	}
	if m := v.Spec.VolumeMode; m != nil {
		errs = append(errs, check.OneOf(*m, spec.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}

func volumeSource(s *corev1.PersistentVolumeSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	n := 0
	for _, src := range []struct {
		name string
		set  bool
	}{
		{"hostPath", s.HostPath != nil}, {"gcePersistentDisk", s.GCEPersistentDisk != nil}, {"awsElasticBlockStore", s.AWSElasticBlockStore != nil},
		{"glusterfs", s.Glusterfs != nil}, {"flocker", s.Flocker != nil}, {"nfs", s.NFS != nil}, {"rbd", s.RBD != nil}, {"quobyte", s.Quobyte != nil},
		{"cephfs", s.CephFS != nil}, {"iscsi", s.ISCSI != nil}, {"cinder", s.Cinder != nil}, {"fc", s.FC != nil}, {"flexVolume", s.FlexVolume != nil},
		{"azureFile", s.AzureFile != nil}, {"vsphereVolume", s.VsphereVolume != nil}, {"photonPersistentDisk", s.PhotonPersistentDisk != nil},
		{"portworxVolume", s.PortworxVolume != nil}, {"azureDisk", s.AzureDisk != nil}, {"scaleIO", s.ScaleIO != nil}, {"local", s.Local != nil},
		{"storageos", s.StorageOS != nil}, {"csi", s.CSI != nil},
	} {
		if !src.set {
			continue
		}
		if n++; n > 1 {
			errs = append(errs, field.Forbidden(path.Child(src.name), "may not specify more than 1 volume type"))
		}
	}
	if n == 0 {
		errs = append(errs, field.Required(path, "must specify a volume type"))
	}
	if s.HostPath != nil {
		if s.HostPath.Path == "" {
			errs = append(errs, field.Required(path.Child("hostPath", "path"), ""))
		}
		if clean := strings.TrimRight(s.HostPath.Path, "/"); clean == "" && s.HostPath.Path != "" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
			errs = append(errs, field.Forbidden(path.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'"))
		}
	}
	if s.CSI != nil {
		if s.CSI.Driver == "" {
			errs = append(errs, field.Required(path.Child("csi", "driver"), ""))
		}
		if s.CSI.VolumeHandle == "" {
			errs = append(errs, field.Required(path.Child("csi", "volumeHandle"), ""))
		}
	}
	if s.NFS != nil {
		if s.NFS.Server == "" {
			errs = append(errs, field.Required(path.Child("nfs", "server"), ""))
		}
		if s.NFS.Path == "" {
			errs = append(errs, field.Required(path.Child("nfs", "path"), ""))
		}
		if !strings.HasPrefix(s.NFS.Path, "/") {
			errs = append(errs, field.Invalid(path.Child("nfs", "path"), s.NFS.Path, "must be an absolute path"))
		}
	}
	if s.Local != nil && s.NodeAffinity == nil {
		errs = append(errs, field.Required(path.Child("nodeAffinity"), "Local volume requires node affinity"))
	}
	return errs
}

func resourceNames(l corev1.ResourceList) string {
	names := make([]string, 0, len(l))
	for k := range l {
		names = append(names, string(k))
	}
	sort.Strings(names)
	return strings.Join(names, ",")
}
