package kubeapi

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/server"
)

// served takes what is not served out of a group; false means that nothing is
// left of it. The storage of what is not served is there for the server's own
// use all the same.
func (c *CompletedConfig) served(info *server.APIGroupInfo) bool {
	if c.Serves != nil {
		info.PrioritizedVersions = slices.DeleteFunc(slices.Clone(info.PrioritizedVersions), func(gv schema.GroupVersion) bool { return !c.Serves(gv) })
	}
	if c.ServesResource != nil {
		for _, gv := range info.PrioritizedVersions {
			for resource := range info.VersionedResourcesStorageMap[gv.Version] {
				if !c.ServesResource(gv, resource) {
					delete(info.VersionedResourcesStorageMap[gv.Version], resource)
				}
			}
		}
	}
	return len(info.PrioritizedVersions) > 0
}

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
