package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"triplane/kubeapi/defaults"
)

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
	defaults.Set(&h.Type, corev1.HostPathUnset)
}

// DefaultAzureDisk completes an Azure disk.
func DefaultAzureDisk(d *corev1.AzureDiskVolumeSource) {
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
		if s.PodCertificate != nil && s.PodCertificate.MaxExpirationSeconds == nil {
			s.PodCertificate.MaxExpirationSeconds = ptr.To(int32(86400))
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
