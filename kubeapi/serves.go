package kubeapi

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"triplane.dev/kubeapi/group"
)

// ServesGroup reports whether a name is that of an API group of this process.
func ServesGroup(name string) bool {
	if name == apiextensionsv1.GroupName || name == "apiregistration.k8s.io" {
		return true
	}
	return NewScheme().IsGroupRegistered(name)
}

// KnowsVersion reports whether a version of an API group of this process exists,
// served or not.
func KnowsVersion(gv schema.GroupVersion) bool {
	switch gv.Group {
	case apiextensionsv1.GroupName, "apiregistration.k8s.io":
		return gv.Version == "v1" || gv.Version == "v1beta1"
	}
	return NewScheme().IsVersionRegistered(gv)
}

// HasVersion reports whether a release has kinds in a version of a group.
func HasVersion(release *version.Version, gv schema.GroupVersion) bool {
	return group.HasVersion(release, NewScheme(), gv)
}
