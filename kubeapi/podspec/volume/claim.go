package volume

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"triplane.dev/kubeapi/check"
)

// accessModes validates the access modes of claims and volumes.
func accessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := sets.New(corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	once, others := false, false
	for _, m := range modes {
		switch {
		case !known.Has(m):
			errs = append(errs, field.NotSupported(path, m, sets.List(known)))
		case m == corev1.ReadWriteOncePod:
			once = true
		default:
			others = true
		}
	}
	if once && others {
		errs = append(errs, field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// ClaimSpec validates the spec of a PersistentVolumeClaim. old is nil for a new one:
// data of an API group that is stored may come from any group.
func ClaimSpec(s, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.AccessModes) == 0 {
		errs = append(errs, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	}
	if s.Selector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(s.Selector,
			metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	}
	errs = append(errs, accessModes(s.AccessModes, path.Child("accessModes"))...)
	storage, ok := s.Resources.Requests[corev1.ResourceStorage]
	switch p := path.Child("resources").Key(string(corev1.ResourceStorage)); {
	case !ok:
		errs = append(errs, field.Required(p, ""))
	case storage.Sign() <= 0:
		errs = append(errs, field.Invalid(p, storage.String(), "must be greater than zero"))
	}
	v := &checker{}
	if s.StorageClassName != nil && *s.StorageClassName != "" {
		v.Subdomain(*s.StorageClassName, path.Child("storageClassName"))
	}
	if s.VolumeMode != nil {
		v.Add(check.OneOf(*s.VolumeMode, path.Child("volumeMode"), corev1.PersistentVolumeBlock,
			corev1.PersistentVolumeFilesystem)...)
	}
	anyGroup := old != nil && fromGroup(old)
	if s.DataSource != nil {
		v.dataSource(s.DataSource.Name, s.DataSource.Kind, ptr.Deref(s.DataSource.APIGroup, ""), anyGroup,
			path.Child("dataSource"))
	}
	if s.DataSourceRef != nil {
		v.dataSource(s.DataSourceRef.Name, s.DataSourceRef.Kind, ptr.Deref(s.DataSourceRef.APIGroup, ""), anyGroup,
			path.Child("dataSourceRef"))
	}
	v.sourcesAgree(s, path)
	if s.VolumeAttributesClassName != nil && *s.VolumeAttributesClassName != "" {
		v.Subdomain(*s.VolumeAttributesClassName, path.Child("volumeAttributesClassName"))
	}
	return append(errs, v.Errors...)
}

// sourcesAgree requires that both fields for the source of a claim's data name
// the same, unless the source is in another namespace, which only one of them
// can say.
func (v *checker) sourcesAgree(s *corev1.PersistentVolumeClaimSpec, path *field.Path) {
	d, r := s.DataSource, s.DataSourceRef
	if r == nil {
		return
	}
	namespace := ptr.Deref(r.Namespace, "")
	if namespace != "" {
		v.Label(namespace, path.Child("dataSourceRef", "namespace"))
	}
	// The value shown is a path, as kube-apiserver has it.
	switch {
	case d == nil:
	case namespace != "":
		v.Add(field.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
	case d.Name != r.Name || d.Kind != r.Kind || check.Differs(d.APIGroup, r.APIGroup):
		v.Add(field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))
	}
}

// fromGroup reports whether data comes from an object of an API group with a name.
func fromGroup(s *corev1.PersistentVolumeClaimSpec) bool {
	return s.DataSource != nil && s.DataSource.APIGroup != nil || s.DataSourceRef != nil && s.DataSourceRef.APIGroup != nil
}

func (v *checker) dataSource(name, kind, group string, anyGroup bool, path *field.Path) {
	if name == "" {
		v.Add(field.Required(path.Child("name"), ""))
	}
	if kind == "" {
		v.Add(field.Required(path.Child("kind"), ""))
	}
	if group == "" && kind != "PersistentVolumeClaim" {
		v.Add(field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
	}
	if group != "" && !anyGroup {
		v.Subdomain(group, path.Child("apiGroup"))
	}
}
