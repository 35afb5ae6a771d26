package podspec

import corev1 "k8s.io/api/core/v1"

// DefaultVolumeSource completes a pod's volume; without any source it is an
// empty directory.
func DefaultVolumeSource(v *corev1.VolumeSource) {
	switch {
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case v.EmptyDir != nil:
		if v.EmptyDir.SizeLimit != nil {
			v.EmptyDir.SizeLimit.RoundUp(-3)
		}
	case v.HostPath != nil:
		DefaultHostPath(v.HostPath)
	case v.Secret != nil:
		setMode(&v.Secret.DefaultMode)
	case v.ConfigMap != nil:
		setMode(&v.ConfigMap.DefaultMode)
	case v.DownwardAPI != nil:
		setMode(&v.DownwardAPI.DefaultMode)
		defaultDownward(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.ISCSI != nil:
		setString(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		setString(&v.RBD.RBDPool, "rbd")
		setString(&v.RBD.RadosUser, "admin")
		setString(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		DefaultAzureDisk(v.AzureDisk)
	case v.ScaleIO != nil:
		setString(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setString(&v.ScaleIO.FSType, "xfs")
	case v.Ephemeral != nil:
		if t := v.Ephemeral.VolumeClaimTemplate; t != nil {
			DefaultClaimSpec(&t.Spec)
		}
	case v.Image != nil:
		if v.Image.PullPolicy == "" {
			v.Image.PullPolicy = pullPolicy(v.Image.Reference)
		}
	}
}

// DefaultHostPath completes a host path: the empty type means no check.
func DefaultHostPath(h *corev1.HostPathVolumeSource) {
	if h.Type == nil {
		h.Type = ptr(corev1.HostPathUnset)
	}
}

// DefaultAzureDisk completes an Azure disk.
func DefaultAzureDisk(d *corev1.AzureDiskVolumeSource) {
	if d.CachingMode == nil {
		d.CachingMode = ptr(corev1.AzureDataDiskCachingReadWrite)
	}
	if d.Kind == nil {
		d.Kind = ptr(corev1.AzureSharedBlobDisk)
	}
	if d.FSType == nil {
		d.FSType = ptr("ext4")
	}
	if d.ReadOnly == nil {
		d.ReadOnly = ptr(false)
	}
}

// DefaultClaimSpec completes the spec of a PersistentVolumeClaim.
func DefaultClaimSpec(s *corev1.PersistentVolumeClaimSpec) {
	if s.VolumeMode == nil {
		s.VolumeMode = ptr(corev1.PersistentVolumeFilesystem)
	}
	RoundResources(s.Resources.Limits)
	RoundResources(s.Resources.Requests)
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	setMode(&p.DefaultMode)
	for i := range p.Sources {
		s := &p.Sources[i]
		if s.ServiceAccountToken != nil && s.ServiceAccountToken.ExpirationSeconds == nil {
			s.ServiceAccountToken.ExpirationSeconds = ptr(int64(3600))
		}
		if s.DownwardAPI != nil {
			defaultDownward(s.DownwardAPI.Items)
		}
		if s.PodCertificate != nil && s.PodCertificate.MaxExpirationSeconds == nil {
			s.PodCertificate.MaxExpirationSeconds = ptr(int32(86400))
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
		*m = ptr(int32(0o644))
	}
}

func setString(s *string, def string) {
	if *s == "" {
		*s = def
	}
}
