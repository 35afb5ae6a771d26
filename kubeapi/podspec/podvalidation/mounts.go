package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

// mounts validates where volumes appear in a container, as files and as devices.
func (v *checker) mounts(c *corev1.Container, path *field.Path) {
	v.volumeMounts(c, path.Child("volumeMounts"))
	v.volumeDevices(c, path.Child("volumeDevices"))
}

func (v *checker) volumeMounts(c *corev1.Container, list *field.Path) {
	names, places := sets.New[string](), sets.New[string]()
	for i := range c.VolumeDevices {
		names.Insert(c.VolumeDevices[i].Name)
		places.Insert(c.VolumeDevices[i].DevicePath)
	}
	points := sets.New[string]()
	for i := range c.VolumeMounts {
		m, p := &c.VolumeMounts[i], list.Index(i)
		if m.Name == "" {
			v.Add(field.Required(p.Child("name"), ""))
		}
		if _, ok := v.volumes[m.Name]; !ok {
			v.Add(field.NotFound(p.Child("name"), m.Name))
		}
		if m.MountPath == "" {
			v.Add(field.Required(p.Child("mountPath"), ""))
		}
		if points.Has(m.MountPath) {
			v.Add(field.Invalid(p.Child("mountPath"), m.MountPath, "must be unique"))
		}
		points.Insert(m.MountPath)
		if names.Has(m.Name) {
			v.Add(field.Invalid(p.Child("name"), m.Name, "must not already exist in volumeDevices"))
		}
		if places.Has(m.MountPath) {
			v.Add(field.Invalid(p.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices"))
		}
		// The path of the rest is that of the list, not of its item, as kube-apiserver does.
		v.subPath(m, list, p)
		v.propagation(m, c, list.Child("mountPropagation"))
		v.recursiveReadOnly(m, list.Child("recursiveReadOnly"))
		v.bindMountOptions(m, p.Child("bindMountOptions"))
	}
}

func (v *checker) bindMountOptions(m *corev1.VolumeMount, path *field.Path) {
	seen := sets.New[string]()
	for i, o := range m.BindMountOptions {
		if seen.Has(o) {
			v.Add(field.Duplicate(path.Index(i), o))
		}
		seen.Insert(o)
		v.Add(check.OneOf(o, path.Index(i), "nodev", "noexec", "nosuid")...)
	}
	if vol, ok := v.volumes[m.Name]; ok && vol.Image != nil && len(m.BindMountOptions) > 0 {
		v.Add(field.Invalid(path, m.BindMountOptions, "bindMountOptions may not be used with image volumes"))
	}
}

func (v *checker) subPath(m *corev1.VolumeMount, path, item *field.Path) {
	if m.SubPath != "" {
		v.RelativePath(m.SubPath, path.Child("subPath"))
	}
	if m.SubPathExpr != "" {
		if m.SubPath != "" {
			v.Add(field.Invalid(item.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
		}
		v.RelativePath(m.SubPathExpr, path.Child("subPathExpr"))
	}
}

func (v *checker) propagation(m *corev1.VolumeMount, c *corev1.Container, path *field.Path) {
	if m.MountPropagation == nil {
		return
	}
	v.Add(check.OneOf(*m.MountPropagation, path, corev1.MountPropagationBidirectional,
		corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)...)
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	if *m.MountPropagation == corev1.MountPropagationBidirectional && !privileged {
		v.Add(field.Forbidden(path, "Bidirectional mount propagation is available only to privileged containers"))
	}
}

func (v *checker) recursiveReadOnly(m *corev1.VolumeMount, path *field.Path) {
	if m.RecursiveReadOnly == nil {
		return
	}
	switch *m.RecursiveReadOnly {
	case corev1.RecursiveReadOnlyDisabled:
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		if !m.ReadOnly {
			v.Add(field.Forbidden(path, "may only be specified when readOnly is true"))
		}
		if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
			v.Add(field.Forbidden(path, "may only be specified when mountPropagation is None or not specified"))
		}
	default:
		v.Add(field.NotSupported(path, *m.RecursiveReadOnly, []corev1.RecursiveReadOnlyMode{
			corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible,
		}))
	}
}

func (v *checker) volumeDevices(c *corev1.Container, list *field.Path) {
	names, points := sets.New[string](), sets.New[string]()
	for i := range c.VolumeMounts {
		names.Insert(c.VolumeMounts[i].Name)
		points.Insert(c.VolumeMounts[i].MountPath)
	}
	devices, places := sets.New[string](), sets.New[string]()
	for i := range c.VolumeDevices {
		d, p := &c.VolumeDevices[i], list.Index(i)
		if d.Name == "" {
			v.Add(field.Required(p.Child("name"), ""))
		}
		if devices.Has(d.Name) {
			v.Add(field.Invalid(p.Child("name"), d.Name, "must be unique"))
		}
		if vol, ok := v.volumes[d.Name]; !ok {
			v.Add(field.NotFound(p.Child("name"), d.Name))
		} else if vol.PersistentVolumeClaim == nil && vol.Ephemeral == nil {
			v.Add(field.Invalid(p.Child("name"), d.Name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		v.devicePath(d.DevicePath, places, p.Child("devicePath"))
		if names.Has(d.Name) {
			v.Add(field.Invalid(p.Child("name"), d.Name, "must not already exist in volumeMounts"))
		}
		if points.Has(d.DevicePath) {
			v.Add(field.Invalid(p.Child("devicePath"), d.DevicePath, "must not already exist as a path in volumeMounts"))
		}
		if d.Name != "" {
			devices.Insert(d.Name)
		}
	}
}

func (v *checker) devicePath(place string, seen sets.Set[string], path *field.Path) {
	if place == "" {
		v.Add(field.Required(path, ""))
	}
	if seen.Has(place) {
		v.Add(field.Invalid(path, place, "must be unique"))
	}
	if check.Backsteps(place) {
		v.Add(field.Invalid(path, place, "can not contain backsteps ('..')"))
		return
	}
	seen.Insert(place)
}
