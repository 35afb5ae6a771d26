package volume

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// source is a kind of volume: of a pod, or of a persistent volume.
type source struct {
	name  string
	set   bool
	check func(*field.Path)
}

// refusedNames are the names of sources that kube-apiserver spells otherwise where
// it refuses them beside another one.
var refusedNames = map[string]string{"cephfs": "cephFS", "downwardAPI": "downwarAPI"}

// oneSource requires exactly one source and validates it; a second one is refused
// where it stands, but for those that may stand beside others.
func (v *checker) oneSource(sources []source, path *field.Path, beside ...string) {
	n := 0
	for _, s := range sources {
		if !s.set {
			continue
		}
		if n++; n > 1 && !slices.Contains(beside, s.name) {
			name := s.name
			if refused, ok := refusedNames[name]; ok {
				name = refused
			}
			v.Add(field.Forbidden(path.Child(name), "may not specify more than 1 volume type"))
			continue
		}
		name := s.name
		if name == "gcePersistentDisk" {
			name = "persistentDisk" // as its errors have always named it
		}
		s.check(path.Child(name))
	}
	if n == 0 {
		v.Add(field.Required(path, "must specify a volume type"))
	}
}

// require refuses empty fields, given as pairs of a name and a value.
func (v *checker) require(path *field.Path, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			v.Add(field.Required(path.Child(pairs[i]), ""))
		}
	}
}

func (v *checker) gcePersistentDisk(s *corev1.GCEPersistentDiskVolumeSource, path *field.Path) {
	v.require(path, "pdName", s.PDName)
	v.partition(s.Partition, path)
}

func (v *checker) awsElasticBlockStore(s *corev1.AWSElasticBlockStoreVolumeSource, path *field.Path) {
	v.require(path, "volumeID", s.VolumeID)
	v.partition(s.Partition, path)
}

func (v *checker) nfs(s *corev1.NFSVolumeSource, path *field.Path) {
	v.require(path, "server", s.Server, "path", s.Path)
	if !strings.HasPrefix(s.Path, "/") {
		v.Add(field.Invalid(path.Child("path"), s.Path, "must be an absolute path"))
	}
}

func (v *checker) rbd(monitors []string, image string, path *field.Path) {
	v.monitors(monitors, path)
	v.require(path, "image", image)
}

func (v *checker) monitors(monitors []string, path *field.Path) {
	if len(monitors) == 0 {
		v.Add(field.Required(path.Child("monitors"), ""))
	}
}

func (v *checker) scaleIO(gateway, system, volume string, path *field.Path) {
	v.require(path, "gateway", gateway, "system", system, "volumeName", volume)
}

func (v *checker) storageOS(name, namespace string, path *field.Path) {
	v.require(path, "volumeName", name)
	if name != "" {
		v.Label(name, path.Child("volumeName"))
	}
	if namespace != "" {
		v.Label(namespace, path.Child("volumeNamespace"))
	}
}
