package volume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// persistentSources lists the kinds of persistent volumes in the order in which
// they are validated. They differ from those of pods in that a volume belongs to
// no namespace: what it refers to is named with one.
func (v *checker) persistentSources(volume *corev1.PersistentVolumeSpec, spec *field.Path) []source {
	s := &volume.PersistentVolumeSource
	return []source{
		{"hostPath", s.HostPath != nil, func(p *field.Path) { v.hostPath(s.HostPath, p) }},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil,
			func(p *field.Path) { v.gcePersistentDisk(s.GCEPersistentDisk, p) }},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil,
			func(p *field.Path) { v.awsElasticBlockStore(s.AWSElasticBlockStore, p) }},
		{"glusterfs", s.Glusterfs != nil, func(p *field.Path) { v.persistentGlusterfs(s.Glusterfs, p) }},
		{"flocker", s.Flocker != nil, func(p *field.Path) { v.flocker(s.Flocker, p) }},
		{"nfs", s.NFS != nil, func(p *field.Path) { v.nfs(s.NFS, p) }},
		{"rbd", s.RBD != nil, func(p *field.Path) { v.rbd(s.RBD.CephMonitors, s.RBD.RBDImage, p) }},
		{"quobyte", s.Quobyte != nil, func(p *field.Path) { v.quobyte(s.Quobyte, p) }},
		{"cephfs", s.CephFS != nil, func(p *field.Path) { v.monitors(s.CephFS.Monitors, p) }},
		{"iscsi", s.ISCSI != nil, func(p *field.Path) { v.persistentISCSI(s.ISCSI, p) }},
		{"cinder", s.Cinder != nil, func(p *field.Path) {
			v.require(p, "volumeID", s.Cinder.VolumeID)
			if r := s.Cinder.SecretRef; r != nil {
				v.require(p.Child("secretRef"), "name", r.Name, "namespace", r.Namespace)
			}
		}},
		{"fc", s.FC != nil, func(p *field.Path) { v.fc(s.FC, p) }},
		{"flexVolume", s.FlexVolume != nil, func(p *field.Path) {
			v.flexVolume(s.FlexVolume.Driver,
				s.FlexVolume.Options, p)
		}},
		{"azureFile", s.AzureFile != nil, func(p *field.Path) {
			v.require(p, "secretName", s.AzureFile.SecretName, "shareName", s.AzureFile.ShareName)
			if n := s.AzureFile.SecretNamespace; n != nil {
				v.require(p, "secretNamespace", *n)
			}
		}},
		{"vsphereVolume", s.VsphereVolume != nil,
			func(p *field.Path) { v.require(p, "volumePath", s.VsphereVolume.VolumePath) }},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil,
			func(p *field.Path) { v.require(p, "pdID", s.PhotonPersistentDisk.PdID) }},
		{"portworxVolume", s.PortworxVolume != nil,
			func(p *field.Path) { v.require(p, "volumeID", s.PortworxVolume.VolumeID) }},
		{"azureDisk", s.AzureDisk != nil, func(p *field.Path) { v.azureDisk(s.AzureDisk, p) }},
		{"scaleIO", s.ScaleIO != nil, func(p *field.Path) {
			v.scaleIO(s.ScaleIO.Gateway, s.ScaleIO.System,
				s.ScaleIO.VolumeName, p)
		}},
		{"local", s.Local != nil, func(p *field.Path) {
			v.local(s.Local, p)
			if volume.NodeAffinity == nil {
				v.Add(field.Required(spec.Child("nodeAffinity"), "Local volume requires node affinity"))
			}
		}},
		{"storageos", s.StorageOS != nil, func(p *field.Path) {
			v.storageOS(s.StorageOS.VolumeName, s.StorageOS.VolumeNamespace, p)
			if r := s.StorageOS.SecretRef; r != nil {
				v.require(p.Child("secretRef"), "name", r.Name, "namespace", r.Namespace)
			}
		}},
		{"csi", s.CSI != nil, func(p *field.Path) { v.persistentCSI(s.CSI, p) }},
	}
}

func (v *checker) persistentGlusterfs(s *corev1.GlusterfsPersistentVolumeSource, path *field.Path) {
	v.require(path, "endpoints", s.EndpointsName, "path", s.Path)
	switch n := s.EndpointsNamespace; {
	case n == nil:
	case *n == "":
		v.Add(field.Invalid(path.Child("endpointsNamespace"), *n,
			"if the endpointnamespace is set, it must be a valid namespace name"))
	default:
		v.Label(*n, path.Child("endpointsNamespace"))
	}
}

func (v *checker) persistentISCSI(s *corev1.ISCSIPersistentVolumeSource, path *field.Path) {
	const unknown = "must be valid format"
	v.require(path, "targetPortal", s.TargetPortal, "iqn", s.IQN)
	if s.IQN != "" {
		v.iscsiName(s.IQN, unknown, path.Child("iqn"))
	}
	v.lun(s.Lun, path)
	v.chap(s.DiscoveryCHAPAuth || s.SessionCHAPAuth, s.SecretRef != nil, path)
	if s.SecretRef != nil {
		v.require(path.Child("secretRef"), "name", s.SecretRef.Name)
	}
	if s.InitiatorName != nil {
		v.iscsiName(*s.InitiatorName, unknown, path.Child("initiatorname"))
	}
}

func (v *checker) local(s *corev1.LocalVolumeSource, path *field.Path) {
	if s.Path == "" {
		v.Add(field.Required(path.Child("path"), ""))
		return
	}
	v.NoBackstep(s.Path, path.Child("path"))
}

// persistentCSI validates a volume of a CSI driver. The secret for staging is left
// to the driver.
func (v *checker) persistentCSI(s *corev1.CSIPersistentVolumeSource, path *field.Path) {
	v.Add(CSIDriverName(s.Driver, path.Child("driver"))...)
	v.require(path, "volumeHandle", s.VolumeHandle)
	for _, r := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef},
		{"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if r.ref != nil {
			v.secretOfNamespace(r.ref, path.Child(r.name))
		}
	}
}

func (v *checker) secretOfNamespace(r *corev1.SecretReference, path *field.Path) {
	v.require(path, "name", r.Name)
	if r.Name != "" {
		v.Subdomain(r.Name, path.Child("name"))
	}
	v.require(path, "namespace", r.Namespace)
	if r.Namespace != "" {
		v.Label(r.Namespace, path.Child("namespace"))
	}
}
