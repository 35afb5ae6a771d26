package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

// allowedInEphemeral are the fields that a container for debugging may have.
var allowedInEphemeral = sets.New("Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts",
	"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin",
	"StdinOnce", "TTY")

// ephemeralContainers validates the containers for debugging of a pod.
func (v *checker) ephemeralContainers(list *field.Path) {
	s := v.spec
	if len(s.EphemeralContainers) == 0 {
		return
	}
	names, targets := sets.New[string](), sets.New[string]()
	for _, cs := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range cs {
			names.Insert(cs[i].Name)
			targets.Insert(cs[i].Name)
		}
	}
	for i := range s.EphemeralContainers {
		e, p := &s.EphemeralContainers[i], list.Index(i)
		c := corev1.Container(e.EphemeralContainerCommon)
		v.container(&c, p, true)
		v.uniqueName(c.Name, names, p)
		if e.TargetContainerName != "" && !targets.Has(e.TargetContainerName) {
			v.Add(field.NotFound(p.Child("targetContainerName"), e.TargetContainerName))
		}
		v.Add(check.OnlyFields(e.EphemeralContainerCommon, allowedInEphemeral, "cannot be set for an Ephemeral Container",
			p)...)
		for j := range c.VolumeMounts {
			if c.VolumeMounts[j].SubPath != "" {
				v.Add(field.Forbidden(p.Child("volumeMounts").Index(j).Child("subPath"),
					"cannot be set for an Ephemeral Container"))
			}
			if c.VolumeMounts[j].SubPathExpr != "" {
				v.Add(field.Forbidden(p.Child("volumeMounts").Index(j).Child("subPathExpr"),
					"cannot be set for an Ephemeral Container"))
			}
		}
	}
}
