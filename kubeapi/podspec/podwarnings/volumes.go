package podwarnings

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// retired are the kinds of volumes that do nothing any more, by their name in
// warnings.
var retired = map[string]string{
	"photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
	"gitRepo":              "deprecated in v1.11, and disabled by default in v1.33+",
	"scaleIO":              "deprecated in v1.16, non-functional in v1.22+",
	"flocker":              "deprecated in v1.22, non-functional in v1.25+",
	"storageOS":            "deprecated in v1.22, non-functional in v1.25+",
	"quobyte":              "deprecated in v1.22, non-functional in v1.25+",
	"glusterfs":            "deprecated in v1.25, non-functional in v1.26+",
	"cephfs":               "deprecated in v1.28, non-functional in v1.31+",
	"rbd":                  "deprecated in v1.28, non-functional in v1.31+",
}

func (w *warner) retired(set bool, name string, path *field.Path) {
	if set {
		w.say("%s: %s", path.Child(name), retired[name])
	}
}

func (w *warner) volume(v *corev1.Volume, path *field.Path) {
	w.retired(v.PhotonPersistentDisk != nil, "photonPersistentDisk", path)
	w.retired(v.GitRepo != nil, "gitRepo", path)
	w.retired(v.ScaleIO != nil, "scaleIO", path)
	w.retired(v.Flocker != nil, "flocker", path)
	w.retired(v.StorageOS != nil, "storageOS", path)
	w.retired(v.Quobyte != nil, "quobyte", path)
	w.retired(v.Glusterfs != nil, "glusterfs", path)
	w.retired(v.CephFS != nil, "cephfs", path)
	w.retired(v.RBD != nil, "rbd", path)
	if e := v.Ephemeral; e != nil && e.VolumeClaimTemplate != nil {
		w.texts = append(w.texts, ClaimSpec(&e.VolumeClaimTemplate.Spec,
			path.Child("ephemeral", "volumeClaimTemplate", "spec"))...)
	}
}

// PersistentVolume returns warnings about a persistent volume.
func PersistentVolume(v *corev1.PersistentVolume) []string {
	w, spec := &warner{}, field.NewPath("spec")
	for _, a := range []struct{ name, msg string }{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, ok := v.Annotations[a.name]; ok {
			w.say("%s: %s", field.NewPath("metadata", "annotations").Key(a.name), a.msg)
		}
	}
	if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		w.say("%s: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.", spec.Child("persistentVolumeReclaimPolicy"))
	}
	if a := v.Spec.NodeAffinity; a != nil && a.Required != nil {
		terms := spec.Child("nodeAffinity", "required", "nodeSelectorTerms")
		for i := range a.Required.NodeSelectorTerms {
			w.nodeTerm(&a.Required.NodeSelectorTerms[i], terms.Index(i))
		}
	}
	s := &v.Spec.PersistentVolumeSource
	w.retired(s.CephFS != nil, "cephfs", spec)
	w.retired(s.PhotonPersistentDisk != nil, "photonPersistentDisk", spec)
	w.retired(s.RBD != nil, "rbd", spec)
	w.retired(s.ScaleIO != nil, "scaleIO", spec)
	w.retired(s.StorageOS != nil, "storageOS", spec)
	w.retired(s.Glusterfs != nil, "glusterfs", spec)
	return w.texts
}
