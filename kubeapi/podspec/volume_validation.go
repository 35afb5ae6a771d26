package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const modeMsg = "must be a number between 0 and 0777 (octal), both inclusive"

var (
	volumeFields = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
	envFields    = sets.New("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
)

func (v *checker) volumeList(list *field.Path) {
	for i := range v.spec.Volumes {
		vol, p := &v.spec.Volumes[i], list.Index(i)
		before := len(v.errs)
		v.volume(vol, p)
		switch {
		case vol.Name == "":
			v.add(field.Required(p.Child("name"), ""))
		case len(utilvalidation.IsDNS1123Label(vol.Name)) > 0:
			v.label(vol.Name, p.Child("name"))
		case v.volumes[vol.Name] != nil:
			v.add(field.Duplicate(p.Child("name"), vol.Name))
		}
		// A volume that is wrong is none that could be mounted.
		if len(v.errs) == before {
			v.volumes[vol.Name] = vol
		}
	}
}

// volume validates the source; a second one is refused where it stands.
func (v *checker) volume(vol *corev1.Volume, path *field.Path) {
	n := 0
	for _, s := range v.sources(vol) {
		if !s.set {
			continue
		}
		if n++; n > 1 {
			v.add(field.Forbidden(path.Child(s.name), "may not specify more than 1 volume type"))
			continue
		}
		name := s.name
		if name == "gcePersistentDisk" {
			name = "persistentDisk" // as its errors have always named it
		}
		s.check(path.Child(name))
	}
	if n == 0 {
		v.add(field.Required(path, "must specify a volume type"))
	}
}

// source is a kind of volume.
type source struct {
	name  string
	set   bool
	check func(*field.Path)
}

// sources lists the kinds of volumes in the order in which they are validated.
//
//nolint:funlen // a table
func (v *checker) sources(vol *corev1.Volume) []source {
	require := func(pairs ...string) func(*field.Path) {
		return func(p *field.Path) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i+1] == "" {
					v.add(field.Required(p.Child(pairs[i]), ""))
				}
			}
		}
	}
	s := []source{
		{"emptyDir", vol.EmptyDir != nil, func(p *field.Path) { v.emptyDir(vol.EmptyDir, p) }},
		{"hostPath", vol.HostPath != nil, func(p *field.Path) { v.hostPath(vol.HostPath, p) }},
		{"gitRepo", vol.GitRepo != nil, func(p *field.Path) {
			require("repository", vol.GitRepo.Repository)(p)
			v.relativePath(vol.GitRepo.Directory, p.Child("directory"))
		}},
		{"gcePersistentDisk", vol.GCEPersistentDisk != nil, func(p *field.Path) {
			require("pdName", vol.GCEPersistentDisk.PDName)(p)
			v.partition(vol.GCEPersistentDisk.Partition, p)
		}},
		{"awsElasticBlockStore", vol.AWSElasticBlockStore != nil, func(p *field.Path) {
			require("volumeID", vol.AWSElasticBlockStore.VolumeID)(p)
			v.partition(vol.AWSElasticBlockStore.Partition, p)
		}},
		{"secret", vol.Secret != nil, func(p *field.Path) {
			require("secretName", vol.Secret.SecretName)(p)
			v.mode(vol.Secret.DefaultMode, p.Child("defaultMode"))
			v.keyPaths(vol.Secret.Items, p.Child("items"))
		}},
		{"nfs", vol.NFS != nil, func(p *field.Path) {
			require("server", vol.NFS.Server, "path", vol.NFS.Path)(p)
			if !strings.HasPrefix(vol.NFS.Path, "/") {
				v.add(field.Invalid(p.Child("path"), vol.NFS.Path, "must be an absolute path"))
			}
		}},
		{"iscsi", vol.ISCSI != nil, func(p *field.Path) { v.iscsi(vol.ISCSI, p) }},
		{"glusterfs", vol.Glusterfs != nil, func(p *field.Path) {
			require("endpoints", vol.Glusterfs.EndpointsName, "path", vol.Glusterfs.Path)(p)
		}},
		{"flocker", vol.Flocker != nil, func(p *field.Path) { v.flocker(vol.Flocker, p) }},
		{"persistentVolumeClaim", vol.PersistentVolumeClaim != nil, func(p *field.Path) {
			require("claimName", vol.PersistentVolumeClaim.ClaimName)(p)
		}},
		{"rbd", vol.RBD != nil, func(p *field.Path) {
			if len(vol.RBD.CephMonitors) == 0 {
				v.add(field.Required(p.Child("monitors"), ""))
			}
			require("image", vol.RBD.RBDImage)(p)
		}},
		{"cinder", vol.Cinder != nil, func(p *field.Path) {
			require("volumeID", vol.Cinder.VolumeID)(p)
			v.secretRef(vol.Cinder.SecretRef, p)
		}},
		{"cephfs", vol.CephFS != nil, func(p *field.Path) {
			if len(vol.CephFS.Monitors) == 0 {
				v.add(field.Required(p.Child("monitors"), ""))
			}
		}},
		{"quobyte", vol.Quobyte != nil, func(p *field.Path) { v.quobyte(vol.Quobyte, p) }},
		{"downwardAPI", vol.DownwardAPI != nil, func(p *field.Path) {
			v.mode(vol.DownwardAPI.DefaultMode, p.Child("defaultMode"))
			for i := range vol.DownwardAPI.Items {
				v.downward(&vol.DownwardAPI.Items[i], p)
			}
		}},
		{"fc", vol.FC != nil, func(p *field.Path) { v.fc(vol.FC, p) }},
		{"flexVolume", vol.FlexVolume != nil, func(p *field.Path) { v.flexVolume(vol.FlexVolume, p) }},
		{"configMap", vol.ConfigMap != nil, func(p *field.Path) {
			require("name", vol.ConfigMap.Name)(p)
			v.mode(vol.ConfigMap.DefaultMode, p.Child("defaultMode"))
			v.keyPaths(vol.ConfigMap.Items, p.Child("items"))
		}},
		{"azureFile", vol.AzureFile != nil, func(p *field.Path) {
			require("secretName", vol.AzureFile.SecretName, "shareName", vol.AzureFile.ShareName)(p)
		}},
		{"vsphereVolume", vol.VsphereVolume != nil, func(p *field.Path) { require("volumePath", vol.VsphereVolume.VolumePath)(p) }},
		{"photonPersistentDisk", vol.PhotonPersistentDisk != nil, func(p *field.Path) { require("pdID", vol.PhotonPersistentDisk.PdID)(p) }},
		{"portworxVolume", vol.PortworxVolume != nil, func(p *field.Path) { require("volumeID", vol.PortworxVolume.VolumeID)(p) }},
		{"azureDisk", vol.AzureDisk != nil, func(p *field.Path) { v.azureDisk(vol.AzureDisk, p) }},
		{"storageos", vol.StorageOS != nil, func(p *field.Path) {
			require("volumeName", vol.StorageOS.VolumeName)(p)
			if vol.StorageOS.VolumeName != "" {
				v.label(vol.StorageOS.VolumeName, p.Child("volumeName"))
			}
			if vol.StorageOS.VolumeNamespace != "" {
				v.label(vol.StorageOS.VolumeNamespace, p.Child("volumeNamespace"))
			}
			v.secretRef(vol.StorageOS.SecretRef, p)
		}},
		{"projected", vol.Projected != nil, func(p *field.Path) { v.projected(vol.Projected, p) }},
		{"scaleIO", vol.ScaleIO != nil, func(p *field.Path) {
			require("gateway", vol.ScaleIO.Gateway, "system", vol.ScaleIO.System, "volumeName", vol.ScaleIO.VolumeName)(p)
		}},
		{"csi", vol.CSI != nil, func(p *field.Path) { v.csi(vol.CSI, p) }},
		{"ephemeral", vol.Ephemeral != nil, func(p *field.Path) { v.ephemeral(vol.Ephemeral, p) }},
		{"image", vol.Image != nil, func(p *field.Path) {
			require("reference", vol.Image.Reference)(p)
			oneOf(v, vol.Image.PullPolicy, p.Child("pullPolicy"), corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
		}},
	}
	return s
}

func (v *checker) emptyDir(e *corev1.EmptyDirVolumeSource, path *field.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		v.add(field.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity"))
	}
}

func (v *checker) hostPath(h *corev1.HostPathVolumeSource, path *field.Path) {
	if h.Path == "" {
		v.add(field.Required(path.Child("path"), ""))
		return
	}
	v.noBackstep(h.Path, path.Child("path"))
	if h.Type != nil {
		oneOfOrEmpty(v, *h.Type, path.Child("type"), corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
			corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
	}
}

func (v *checker) mode(m *int32, path *field.Path) {
	if m != nil && (*m < 0 || *m > 0o777) {
		v.add(field.Invalid(path, *m, modeMsg))
	}
}

func (v *checker) keyPaths(items []corev1.KeyToPath, list *field.Path) {
	for i := range items {
		p := list.Index(i)
		if items[i].Key == "" {
			v.add(field.Required(p.Child("key"), ""))
		}
		v.filePath(items[i].Path, p.Child("path"))
		v.mode(items[i].Mode, p.Child("mode"))
	}
}

// filePath validates where in its volume a file goes.
func (v *checker) filePath(value string, path *field.Path) {
	if value == "" {
		v.add(field.Required(path, ""))
		return
	}
	v.relativePath(value, path)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") && value != ".." {
		v.add(field.Invalid(path, value, "must not start with '..'"))
	}
}

func (v *checker) downward(f *corev1.DownwardAPIVolumeFile, path *field.Path) {
	v.filePath(f.Path, path.Child("path"))
	switch {
	case f.FieldRef != nil:
		v.fieldRef(f.FieldRef, path.Child("fieldRef"), volumeFields)
		if f.ResourceFieldRef != nil {
			v.add(field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case f.ResourceFieldRef != nil:
		v.resourceFieldRef(f.ResourceFieldRef, path.Child("resourceFieldRef"), true)
	default:
		v.add(field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	v.mode(f.Mode, path.Child("mode"))
}

func (v *checker) fieldRef(r *corev1.ObjectFieldSelector, path *field.Path, supported sets.Set[string]) {
	if r.APIVersion == "" {
		v.add(field.Required(path.Child("apiVersion"), ""))
		return
	}
	if r.FieldPath == "" {
		v.add(field.Required(path.Child("fieldPath"), ""))
		return
	}
	if base, key, ok := subscript(r.FieldPath); ok {
		switch base {
		case "metadata.annotations":
			v.messages(utilvalidation.IsQualifiedName(strings.ToLower(key)), key, path)
		case "metadata.labels":
			v.messages(utilvalidation.IsQualifiedName(key), key, path)
		default:
			v.add(field.Invalid(path, base, "does not support subscript"))
		}
		return
	}
	if r.APIVersion != "v1" {
		v.add(field.Invalid(path.Child("fieldPath"), r.FieldPath, fmt.Sprintf("error converting fieldPath: unsupported pod version: %s", r.APIVersion)))
		return
	}
	if !supported.Has(r.FieldPath) {
		v.add(field.NotSupported(path.Child("fieldPath"), r.FieldPath, sets.List(supported)))
	}
}

func subscript(s string) (base, key string, ok bool) {
	if !strings.HasSuffix(s, "']") {
		return "", "", false
	}
	base, key, ok = strings.Cut(strings.TrimSuffix(s, "']"), "['")
	return base, key, ok
}

func (v *checker) resourceFieldRef(r *corev1.ResourceFieldSelector, path *field.Path, volume bool) {
	if volume && r.ContainerName == "" {
		v.add(field.Required(path.Child("containerName"), ""))
		return
	}
	if r.Resource == "" {
		v.add(field.Required(path.Child("resource"), ""))
		return
	}
	supported := []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"}
	_, name, _ := strings.Cut(r.Resource, ".")
	if !sets.New(supported...).Has(r.Resource) && !isHugePages(name) {
		v.add(field.NotSupported(path.Child("resource"), r.Resource, supported))
	}
}

func (v *checker) projected(p *corev1.ProjectedVolumeSource, path *field.Path) {
	v.mode(p.DefaultMode, path.Child("defaultMode"))
	paths := sets.New[string]()
	place := func(shown, file string) {
		if file == "" {
			return
		}
		if paths.Has(file) {
			v.add(field.Invalid(path, shown, "conflicting duplicate paths"))
		}
		paths.Insert(file)
	}
	for i := range p.Sources {
		s, sp := &p.Sources[i], path.Child("sources").Index(i)
		n := 0
		first := func() bool {
			if n++; n > 1 {
				v.add(field.Forbidden(sp, "may not specify more than 1 volume type per source"))
			}
			return n == 1
		}
		if x := s.Secret; x != nil && first() {
			v.projectedItems(x.Name, x.Items, sp.Child("secret"), place)
		}
		if x := s.ConfigMap; x != nil && first() {
			v.projectedItems(x.Name, x.Items, sp.Child("configMap"), place)
		}
		if x := s.DownwardAPI; x != nil && first() {
			for j := range x.Items {
				v.downward(&x.Items[j], sp.Child("downwardAPI"))
				place(x.Items[j].Path, x.Items[j].Path)
			}
		}
		if x := s.ServiceAccountToken; x != nil && first() {
			v.tokenSource(x, path, sp.Child("serviceAccountToken"))
		}
	}
}

func (v *checker) projectedItems(name string, items []corev1.KeyToPath, path *field.Path, place func(shown, file string)) {
	if name == "" {
		v.add(field.Required(path.Child("name"), ""))
	}
	v.keyPaths(items, path.Child("items"))
	for i := range items {
		place(name, items[i].Path)
	}
}

func (v *checker) tokenSource(t *corev1.ServiceAccountTokenProjection, projected, path *field.Path) {
	if e := t.ExpirationSeconds; e != nil && *e < 600 {
		v.add(field.Invalid(path.Child("expirationSeconds"), *e, "may not specify a duration less than 10 minutes"))
	} else if e != nil && *e > 1<<32 {
		v.add(field.Invalid(path.Child("expirationSeconds"), *e, "may not specify a duration larger than 2^32 seconds"))
	}
	if t.Path == "" {
		v.add(field.Required(projected.Child("path"), ""))
	}
}

func (v *checker) ephemeral(e *corev1.EphemeralVolumeSource, path *field.Path) {
	t := path.Child("volumeClaimTemplate")
	if e.VolumeClaimTemplate == nil {
		v.add(field.Required(t, ""))
		return
	}
	m := &e.VolumeClaimTemplate.ObjectMeta
	v.add(validation.ValidateAnnotations(m.Annotations, t.Child("metadata", "annotations"))...)
	v.add(labelErrors(m.Labels, t.Child("metadata", "labels"))...)
	if m.Name != "" {
		v.add(field.Forbidden(t.Child("metadata", "name"), "cannot be set"))
	}
	v.add(ValidateClaimSpec(&e.VolumeClaimTemplate.Spec, t.Child("spec"))...)
}
