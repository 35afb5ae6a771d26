package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/defaults"
)

// DefaultVolumeSource completes a pod's volume; without any source it is an
// empty directory.
func DefaultVolumeSource(v *corev1.VolumeSource) {
	if *v == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		return
	}
	defaultFiles(v)
	if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
		v.EmptyDir.SizeLimit.RoundUp(-3)
	}
	if v.HostPath != nil {
		defaultHostPath(v.HostPath)
	}
	if v.ISCSI != nil {
		setString(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		defaultRBD(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.AzureDisk != nil {
		defaultAzureDisk(v.AzureDisk)
	}
	if v.ScaleIO != nil {
		defaultScaleIO(&v.ScaleIO.StorageMode, &v.ScaleIO.FSType)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		DefaultClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.Image != nil && v.Image.PullPolicy == "" {
		v.Image.PullPolicy = pullPolicy(v.Image.Reference)
	}
}

// defaultFiles completes the volumes whose files the API itself has.
func defaultFiles(v *corev1.VolumeSource) {
	if v.Secret != nil {
		setMode(&v.Secret.DefaultMode)
	}
	if v.ConfigMap != nil {
		setMode(&v.ConfigMap.DefaultMode)
	}
	if v.DownwardAPI != nil {
		setMode(&v.DownwardAPI.DefaultMode)
		defaultDownward(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		defaultProjected(v.Projected)
	}
}

// DefaultPersistentVolumeSource completes a persistent volume, its own or in an
// attachment.
func DefaultPersistentVolumeSource(v *corev1.PersistentVolumeSource) {
	if v.HostPath != nil {
		defaultHostPath(v.HostPath)
	}
	if v.ISCSI != nil {
		setString(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		defaultRBD(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.AzureDisk != nil {
		defaultAzureDisk(v.AzureDisk)
	}
	if v.ScaleIO != nil {
		defaultScaleIO(&v.ScaleIO.StorageMode, &v.ScaleIO.FSType)
	}
}

// defaultHostPath completes a host path: the empty type means no check.
func defaultHostPath(h *corev1.HostPathVolumeSource) {
	defaults.Set(&h.Type, corev1.HostPathUnset)
}

func defaultRBD(pool, user, keyring *string) {
	setString(pool, "rbd")
	setString(user, "admin")
	setString(keyring, "/etc/ceph/keyring")
}

func defaultScaleIO(mode, fsType *string) {
	setString(mode, "ThinProvisioned")
	setString(fsType, "xfs")
}

func defaultAzureDisk(d *corev1.AzureDiskVolumeSource) {
	defaults.Set(&d.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	defaults.Set(&d.Kind, corev1.AzureSharedBlobDisk)
	defaults.Set(&d.FSType, "ext4")
	defaults.Set(&d.ReadOnly, false)
}

// DefaultClaimSpec completes the spec of a PersistentVolumeClaim.
func DefaultClaimSpec(s *corev1.PersistentVolumeClaimSpec) {
	defaults.Set(&s.VolumeMode, corev1.PersistentVolumeFilesystem)
	RoundResources(s.Resources.Limits)
	RoundResources(s.Resources.Requests)
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	setMode(&p.DefaultMode)
	for i := range p.Sources {
		s := &p.Sources[i]
		if s.ServiceAccountToken != nil && s.ServiceAccountToken.ExpirationSeconds == nil {
			s.ServiceAccountToken.ExpirationSeconds = ptr.To(int64(3600))
		}
		if s.DownwardAPI != nil {
			defaultDownward(s.DownwardAPI.Items)
		}
	}
}

func defaultDownward(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			defaultFieldRef(items[i].FieldRef)
		}
	}
}

func setMode(m **int32) {
	if *m == nil {
		*m = ptr.To(int32(0o644))
	}
}

func setString(s *string, def string) {
	if *s == "" {
		*s = def
	}
}
