package downwardapi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

// What variables and files can be made of: fields of the pod, and resources of its
// containers.
var (
	VolumeFields = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid")
	EnvFields = sets.New("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	// labelledFields are the fields of a pod that a reference can name; it supports some of them.
	labelledFields = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid",
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	resourceFields = sets.New("limits.cpu", "limits.ephemeral-storage", "limits.memory",
		"requests.cpu", "requests.ephemeral-storage", "requests.memory")
)

// formerNodeName is a name of spec.nodeName from an early version.
const formerNodeName = "spec.host"

// FieldRef validates which field of the pod a reference means, and whether it is
// supported where the reference stands.
func FieldRef(r *corev1.ObjectFieldSelector, path *field.Path, supported sets.Set[string]) field.ErrorList {
	v := &check.Collector{}
	if r.APIVersion == "" {
		return field.ErrorList{field.Required(path.Child("apiVersion"), "")}
	}
	at := path.Child("fieldPath")
	if r.FieldPath == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	base, key, ok := subscript(r.FieldPath)
	name := r.FieldPath
	if name == formerNodeName {
		name = "spec.nodeName"
	}
	switch {
	case r.APIVersion != "v1":
		v.Add(field.Invalid(at, r.FieldPath, "error converting fieldPath: unsupported pod version: "+r.APIVersion))
	case ok && base == "metadata.annotations":
		v.Qualified(strings.ToLower(key), path)
	case ok && base == "metadata.labels":
		v.Qualified(key, path)
	case ok:
		v.Add(field.Invalid(at, r.FieldPath, "error converting fieldPath: field label does not support subscript: "+
			r.FieldPath))
	case !labelledFields.Has(name):
		v.Add(field.Invalid(at, r.FieldPath, "error converting fieldPath: field label not supported: "+r.FieldPath))
	case !supported.Has(name):
		v.Add(field.NotSupported(at, name, sets.List(supported)))
	}
	return v.Errors
}

// subscript splits a field with a key, like metadata.labels['app'].
func subscript(s string) (base, key string, ok bool) {
	s, ends := strings.CutSuffix(s, "']")
	base, key, ok = strings.Cut(s, "['")
	return base, key, ends && ok && base != ""
}

// ResourceFieldRef validates which resource of which container a reference means,
// and in which unit.
func ResourceFieldRef(r *corev1.ResourceFieldSelector, path *field.Path, volume bool) field.ErrorList {
	v := &check.Collector{}
	if volume && r.ContainerName == "" {
		return field.ErrorList{field.Required(path.Child("containerName"), "")}
	}
	if r.Resource == "" {
		return field.ErrorList{field.Required(path.Child("resource"), "")}
	}
	_, name, _ := strings.Cut(r.Resource, ".")
	if !resourceFields.Has(r.Resource) && !podspec.IsHugePages(name) {
		v.Add(field.NotSupported(path.Child("resource"), r.Resource, sets.List(resourceFields)))
	}
	v.Add(divisor(r.Resource, name, r.Divisor, path.Child("divisor"))...)
	return v.Errors
}

var (
	cpuUnits  = []string{"1m", "1"}
	byteUnits = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

// divisor validates the unit of a resource that a reference gives. None is one
// core, or one byte.
func divisor(ref, name string, unit resource.Quantity, path *field.Path) field.ErrorList {
	units, said, kind := byteUnits, strings.Join(byteUnits, ", "), name
	switch {
	case unit.IsZero():
		return nil
	case name == "cpu":
		units, said = cpuUnits, strings.Join(cpuUnits, " and ")
	case name == "memory":
	case name == "ephemeral-storage":
		kind = "local ephemeral storage"
	case podspec.IsHugePages(name):
		kind = "hugepages"
	default:
		return nil
	}
	if slices.ContainsFunc(units, func(u string) bool { return unit.Cmp(resource.MustParse(u)) == 0 }) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, ref,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", said, kind))}
}
