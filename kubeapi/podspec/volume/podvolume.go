package volume

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec/downwardapi"
)

const modeMsg = "must be a number between 0 and 0777 (octal), both inclusive"

// checker collects the errors of volumes, of pods and of the cluster.
type checker struct {
	check.Collector
	// emptyImages accepts image volumes without a reference.
	emptyImages bool
}

// PodVolumes validates the volumes of a pod, and returns the valid ones by name, which containers may mount.
func PodVolumes(volumes []corev1.Volume, emptyImages bool, list *field.Path) (map[string]*corev1.Volume,
	field.ErrorList) {
	v, valid := &checker{emptyImages: emptyImages}, map[string]*corev1.Volume{}
	for i := range volumes {
		vol, p := &volumes[i], list.Index(i)
		before := len(v.Errors)
		v.volume(vol, p)
		switch {
		case vol.Name == "":
			v.Add(field.Required(p.Child("name"), ""))
		case len(utilvalidation.IsDNS1123Label(vol.Name)) > 0:
			v.Label(vol.Name, p.Child("name"))
		case valid[vol.Name] != nil:
			v.Add(field.Duplicate(p.Child("name"), vol.Name))
		}
		if len(v.Errors) == before {
			valid[vol.Name] = vol
		}
	}
	return valid, v.Errors
}

// volume validates the source of a pod's volume.
// The list is in the order in which sources are validated.
func (v *checker) volume(vol *corev1.Volume, path *field.Path) {
	s := &vol.VolumeSource
	v.oneSource([]source{
		{"emptyDir", s.EmptyDir != nil, func(p *field.Path) { v.emptyDir(s.EmptyDir, p) }},
		{"hostPath", s.HostPath != nil, func(p *field.Path) { v.hostPath(s.HostPath, p) }},
		{"gitRepo", s.GitRepo != nil, func(p *field.Path) {
			v.require(p, "repository", s.GitRepo.Repository)
			v.RelativePath(s.GitRepo.Directory, p.Child("directory"))
		}},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil,
			func(p *field.Path) { v.gcePersistentDisk(s.GCEPersistentDisk, p) }},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil,
			func(p *field.Path) { v.awsElasticBlockStore(s.AWSElasticBlockStore, p) }},
		{"secret", s.Secret != nil, func(p *field.Path) {
			v.require(p, "secretName", s.Secret.SecretName)
			v.fileDefaults(s.Secret.DefaultMode, s.Secret.DefaultUser, p)
			v.keyPaths(s.Secret.Items, p.Child("items"))
		}},
		{"nfs", s.NFS != nil, func(p *field.Path) { v.nfs(s.NFS, p) }},
		{"iscsi", s.ISCSI != nil, func(p *field.Path) {
			v.iscsi(s.ISCSI, p)
			v.initiatorTarget(vol.Name, s.ISCSI, path.Child("name"))
		}},
		{"glusterfs", s.Glusterfs != nil, func(p *field.Path) {
			v.require(p, "endpoints", s.Glusterfs.EndpointsName, "path", s.Glusterfs.Path)
		}},
		{"flocker", s.Flocker != nil, func(p *field.Path) { v.flocker(s.Flocker, p) }},
		{"persistentVolumeClaim", s.PersistentVolumeClaim != nil, func(p *field.Path) {
			v.require(p, "claimName", s.PersistentVolumeClaim.ClaimName)
		}},
		{"rbd", s.RBD != nil, func(p *field.Path) { v.rbd(s.RBD.CephMonitors, s.RBD.RBDImage, p) }},
		{"cinder", s.Cinder != nil, func(p *field.Path) {
			v.require(p, "volumeID", s.Cinder.VolumeID)
			v.secretRef(s.Cinder.SecretRef, p)
		}},
		{"cephfs", s.CephFS != nil, func(p *field.Path) { v.monitors(s.CephFS.Monitors, p) }},
		{"quobyte", s.Quobyte != nil, func(p *field.Path) { v.quobyte(s.Quobyte, p) }},
		{"downwardAPI", s.DownwardAPI != nil, func(p *field.Path) {
			v.fileDefaults(s.DownwardAPI.DefaultMode, s.DownwardAPI.DefaultUser, p)
			for i := range s.DownwardAPI.Items {
				v.downward(&s.DownwardAPI.Items[i], p)
			}
		}},
		{"fc", s.FC != nil, func(p *field.Path) { v.fc(s.FC, p) }},
		{"flexVolume", s.FlexVolume != nil, func(p *field.Path) {
			v.flexVolume(s.FlexVolume.Driver, s.FlexVolume.Options, p)
		}},
		{"configMap", s.ConfigMap != nil, func(p *field.Path) {
			v.require(p, "name", s.ConfigMap.Name)
			v.fileDefaults(s.ConfigMap.DefaultMode, s.ConfigMap.DefaultUser, p)
			v.keyPaths(s.ConfigMap.Items, p.Child("items"))
		}},
		{"azureFile", s.AzureFile != nil, func(p *field.Path) {
			v.require(p, "secretName", s.AzureFile.SecretName, "shareName", s.AzureFile.ShareName)
		}},
		{"vsphereVolume", s.VsphereVolume != nil,
			func(p *field.Path) { v.require(p, "volumePath", s.VsphereVolume.VolumePath) }},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil,
			func(p *field.Path) { v.require(p, "pdID", s.PhotonPersistentDisk.PdID) }},
		{"portworxVolume", s.PortworxVolume != nil,
			func(p *field.Path) { v.require(p, "volumeID", s.PortworxVolume.VolumeID) }},
		{"azureDisk", s.AzureDisk != nil, func(p *field.Path) { v.azureDisk(s.AzureDisk, p) }},
		{"storageos", s.StorageOS != nil, func(p *field.Path) {
			v.storageOS(s.StorageOS.VolumeName, s.StorageOS.VolumeNamespace, p)
			v.secretRef(s.StorageOS.SecretRef, p)
		}},
		{"projected", s.Projected != nil, func(p *field.Path) { v.projected(s.Projected, p) }},
		{"scaleIO", s.ScaleIO != nil, func(p *field.Path) {
			v.scaleIO(s.ScaleIO.Gateway, s.ScaleIO.System,
				s.ScaleIO.VolumeName, p)
		}},
		{"csi", s.CSI != nil, func(p *field.Path) { v.csi(s.CSI, p) }},
		{"ephemeral", s.Ephemeral != nil, func(p *field.Path) { v.ephemeral(s.Ephemeral, p) }},
		{"image", s.Image != nil, func(p *field.Path) {
			if !v.emptyImages {
				v.require(p, "reference", s.Image.Reference)
			}
			v.Add(check.RequiredOneOf(s.Image.PullPolicy, p.Child("pullPolicy"), corev1.PullAlways,
				corev1.PullIfNotPresent, corev1.PullNever)...)
		}},
	}, path)
}

func (v *checker) emptyDir(e *corev1.EmptyDirVolumeSource, path *field.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		v.Add(field.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity"))
	}
	if m := e.Mode; m != nil && (*m < 0 || *m > 0o1777) {
		v.Add(field.Invalid(path.Child("mode"), *m, "must be a number between 0 and 01777 (octal), both inclusive"))
	}
}

func (v *checker) hostPath(h *corev1.HostPathVolumeSource, path *field.Path) {
	if h.Path == "" {
		v.Add(field.Required(path.Child("path"), ""))
		return
	}
	v.NoBackstep(h.Path, path.Child("path"))
	if h.Type != nil {
		v.Add(check.OneOf(*h.Type, path.Child("type"), corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
			corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate,
			corev1.HostPathSocket)...)
	}
}

func (v *checker) mode(m *int32, path *field.Path) {
	if m != nil && (*m < 0 || *m > 0o777) {
		v.Add(field.Invalid(path, *m, modeMsg))
	}
}

// fileDefaults validates the default mode and owner of files.
func (v *checker) fileDefaults(mode *int32, user *int64, path *field.Path) {
	v.mode(mode, path.Child("defaultMode"))
	v.user(user, path.Child("defaultUser"))
}

// user validates the owner of files.
func (v *checker) user(id *int64, path *field.Path) {
	if id != nil {
		v.Messages(utilvalidation.IsValidUserID(*id), *id, path)
	}
}

func (v *checker) keyPaths(items []corev1.KeyToPath, list *field.Path) {
	for i := range items {
		p := list.Index(i)
		if items[i].Key == "" {
			v.Add(field.Required(p.Child("key"), ""))
		}
		v.filePath(items[i].Path, p.Child("path"))
		v.mode(items[i].Mode, p.Child("mode"))
		v.user(items[i].User, p.Child("user"))
	}
}

// filePath validates where in its volume a file goes.
func (v *checker) filePath(value string, path *field.Path) {
	if value == "" {
		v.Add(field.Required(path, ""))
		return
	}
	v.RelativePath(value, path)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		v.Add(field.Invalid(path, value, "must not start with '..'"))
	}
}

func (v *checker) downward(f *corev1.DownwardAPIVolumeFile, path *field.Path) {
	v.filePath(f.Path, path.Child("path"))
	switch {
	case f.FieldRef != nil:
		v.Add(downwardapi.FieldRef(f.FieldRef, path.Child("fieldRef"), downwardapi.VolumeFields)...)
		if f.ResourceFieldRef != nil {
			v.Add(field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case f.ResourceFieldRef != nil:
		v.Add(downwardapi.ResourceFieldRef(f.ResourceFieldRef, path.Child("resourceFieldRef"), true)...)
	default:
		v.Add(field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	v.mode(f.Mode, path.Child("mode"))
	v.user(f.User, path.Child("user"))
}

func (v *checker) projected(p *corev1.ProjectedVolumeSource, path *field.Path) {
	v.fileDefaults(p.DefaultMode, p.DefaultUser, path)
	paths := sets.New[string]()
	place := func(shown, file string) {
		if file == "" {
			return
		}
		if paths.Has(file) {
			v.Add(field.Invalid(path, shown, "conflicting duplicate paths"))
		}
		paths.Insert(file)
	}
	for i := range p.Sources {
		v.projection(&p.Sources[i], path, path.Child("sources").Index(i), place)
	}
}

// projection validates one source of a projected volume. place takes the path of
// each of its files.
func (v *checker) projection(s *corev1.VolumeProjection, projected, path *field.Path, place func(shown, file string)) {
	n := 0
	if x := s.Secret; x != nil {
		n++
		v.projectedItems(x.Name, x.Items, path.Child("secret"), place)
	}
	if x := s.ConfigMap; x != nil {
		n++
		v.projectedItems(x.Name, x.Items, path.Child("configMap"), place)
	}
	if x := s.DownwardAPI; x != nil {
		n++
		for j := range x.Items {
			v.downward(&x.Items[j], path.Child("downwardAPI"))
			place(x.Items[j].Path, x.Items[j].Path)
		}
	}
	if x := s.ServiceAccountToken; x != nil {
		n++
		v.tokenSource(x, projected, path.Child("serviceAccountToken"))
	}
	if x := s.ClusterTrustBundle; x != nil {
		n++
		v.trustBundle(x, path.Child("clusterTrustBundle"))
		v.user(x.User, path.Child("clusterTrustBundle", "user"))
		place(x.Path, x.Path)
	}
	if x := s.PodCertificate; x != nil {
		n++
		v.podCertificate(x, path.Child("podCertificate"), place)
		v.user(x.User, path.Child("podCertificate", "user"))
	}
	if n > 1 {
		v.Add(field.Forbidden(path, "may not specify more than 1 volume type per source"))
	}
}

func (v *checker) projectedItems(name string, items []corev1.KeyToPath, path *field.Path,
	place func(shown, file string)) {
	if name == "" {
		v.Add(field.Required(path.Child("name"), ""))
	}
	v.keyPaths(items, path.Child("items"))
	for i := range items {
		place(name, items[i].Path)
	}
}

func (v *checker) tokenSource(t *corev1.ServiceAccountTokenProjection, projected, path *field.Path) {
	if e := t.ExpirationSeconds; e != nil && *e < 600 {
		v.Add(field.Invalid(path.Child("expirationSeconds"), *e, "may not specify a duration less than 10 minutes"))
	} else if e != nil && *e > 1<<32 {
		v.Add(field.Invalid(path.Child("expirationSeconds"), *e, "may not specify a duration larger than 2^32 seconds"))
	}
	v.filePath(t.Path, projected.Child("path"))
	v.user(t.User, path.Child("user"))
}

func (v *checker) ephemeral(e *corev1.EphemeralVolumeSource, path *field.Path) {
	t := path.Child("volumeClaimTemplate")
	if e.VolumeClaimTemplate == nil {
		v.Add(field.Required(t, ""))
		return
	}
	v.Add(check.TemplateMeta(&e.VolumeClaimTemplate.ObjectMeta, t.Child("metadata"))...)
	v.Add(ClaimSpec(&e.VolumeClaimTemplate.Spec, nil, t.Child("spec"))...)
}
