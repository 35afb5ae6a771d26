package kubeapi

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/kubeapi/group"
)

// KnowsGroup reports whether a name is that of an API group of Kubernetes, served or not.
func KnowsGroup(name string) bool {
	if name == apiextensionsv1.GroupName || name == "apiregistration.k8s.io" {
		return true
	}
	return scheme.Scheme.IsGroupRegistered(name)
}

// KnowsVersion reports whether a version of an API group of Kubernetes exists, served or not: settings may name
// versions that have been removed.
func KnowsVersion(gv schema.GroupVersion) bool {
	switch gv.Group {
	case apiextensionsv1.GroupName, "apiregistration.k8s.io":
		return gv.Version == "v1" || gv.Version == "v1beta1"
	}
	return scheme.Scheme.IsVersionRegistered(gv)
}

// ComesAfter reports whether a release has no kind of a version of a group, but later ones have.
func ComesAfter(release *version.Version, gv schema.GroupVersion) bool {
	return group.ComesAfter(release, NewScheme(), gv)
}
