package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec/downwardapi"
)

func (v *checker) env(env []corev1.EnvVar, list *field.Path) {
	for i := range env {
		e, p := &env[i], list.Index(i)
		if e.Name == "" {
			v.Add(field.Required(p.Child("name"), ""))
		} else {
			v.Messages(utilvalidation.IsRelaxedEnvVarName(e.Name), e.Name, p.Child("name"))
		}
		if e.ValueFrom != nil {
			v.envSource(e, p.Child("valueFrom"))
		}
	}
}

func (v *checker) envSource(e *corev1.EnvVar, path *field.Path) {
	from, n := e.ValueFrom, 0
	if r := from.FieldRef; r != nil {
		n++
		v.Add(downwardapi.FieldRef(r, path.Child("fieldRef"), downwardapi.EnvFields)...)
	}
	if r := from.ResourceFieldRef; r != nil {
		n++
		v.Add(downwardapi.ResourceFieldRef(r, path.Child("resourceFieldRef"), false)...)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		n++
		v.keyRef(r.Name, r.Key, path.Child("configMapKeyRef"))
	}
	if r := from.SecretKeyRef; r != nil {
		n++
		v.keyRef(r.Name, r.Key, path.Child("secretKeyRef"))
	}
	if r := from.FileKeyRef; r != nil {
		n++
		v.fileKeyRef(r, path.Child("fileKeyRef"))
	}
	if n == 0 {
		v.Add(field.Invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	} else if e.Value != "" {
		v.Add(field.Invalid(path, "", "may not be specified when `value` is not empty"))
	} else if n > 1 {
		v.Add(field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
}

func (v *checker) keyRef(name, key string, path *field.Path) {
	v.Subdomain(name, path.Child("name"))
	if key == "" {
		v.Add(field.Required(path.Child("key"), ""))
	} else {
		v.Messages(utilvalidation.IsConfigMapKey(key), key, path.Child("key"))
	}
}

// fileKeyRef validates a variable that is read from a file, which another
// container of the pod writes to a volume of the pod's own.
func (v *checker) fileKeyRef(r *corev1.FileKeySelector, path *field.Path) {
	key, volume := path.Child("key"), path.Child("volumeName")
	if r.Key == "" {
		v.Add(field.Required(key, ""))
	} else {
		v.Messages(utilvalidation.IsRelaxedEnvVarName(r.Key), r.Key, key)
	}
	if r.VolumeName == "" {
		v.Add(field.Required(volume, ""))
	} else {
		v.Label(r.VolumeName, volume)
	}
	if r.Path == "" {
		v.Add(field.Required(path.Child("path"), ""))
	} else {
		v.NoBackstep(r.Path, path.Child("path"))
	}
}

// keyFiles requires the volumes of variables that are read from files to be the pod's own.
func (v *checker) keyFiles(path *field.Path) {
	volumes := make(map[string]*corev1.Volume, len(v.spec.Volumes))
	for i := range v.spec.Volumes {
		volumes[v.spec.Volumes[i].Name] = &v.spec.Volumes[i]
	}
	in := func(env []corev1.EnvVar, container *field.Path) {
		for i := range env {
			if env[i].ValueFrom == nil || env[i].ValueFrom.FileKeyRef == nil {
				continue
			}
			name, at := env[i].ValueFrom.FileKeyRef.VolumeName, container.Child("env").Index(i).Child("valueFrom", "fileKeyRef",
				"volumeName")
			if vol := volumes[name]; vol == nil {
				v.Add(field.NotFound(at, name))
			} else if vol.EmptyDir == nil {
				v.Add(field.Invalid(at, name, "referenced volume must be of type emptyDir"))
			}
		}
	}
	for i := range v.spec.InitContainers {
		in(v.spec.InitContainers[i].Env, path.Child("initContainers").Index(i))
	}
	for i := range v.spec.Containers {
		in(v.spec.Containers[i].Env, path.Child("containers").Index(i))
	}
	for i := range v.spec.EphemeralContainers {
		in(v.spec.EphemeralContainers[i].Env, path.Child("ephemeralContainers").Index(i))
	}
}

func (v *checker) envFrom(from []corev1.EnvFromSource, list *field.Path) {
	for i := range from {
		f, p := &from[i], list.Index(i)
		if f.Prefix != "" {
			v.Messages(utilvalidation.IsRelaxedEnvVarName(f.Prefix), f.Prefix, p.Child("prefix"))
		}
		if r := f.ConfigMapRef; r != nil {
			v.envFromName(r.Name, p.Child("configMapRef", "name"))
		}
		if r := f.SecretRef; r != nil {
			v.envFromName(r.Name, p.Child("secretRef", "name"))
		}
		// The path of what is between the sources is that of the list, as
		// kube-apiserver has it.
		switch {
		case f.ConfigMapRef == nil && f.SecretRef == nil:
			v.Add(field.Invalid(list, "", "must specify one of: `configMapRef` or `secretRef`"))
		case f.ConfigMapRef != nil && f.SecretRef != nil:
			v.Add(field.Invalid(list, "", "may not have more than one field specified at a time"))
		}
	}
}

// envFromName validates the name of an object whose every key is a variable. It
// may end like the beginning of a generated name.
func (v *checker) envFromName(name string, path *field.Path) {
	if name == "" {
		v.Add(field.Required(path, ""))
		return
	}
	v.Messages(validation.NameIsDNSSubdomain(name, true), name, path)
}
