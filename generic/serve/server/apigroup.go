package server

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/rest"
)

// APIGroupInfo describes an API group to install: its versions, preferred first, and in each version the storage
// of each resource ("pods") and subresource ("pods/status").
type APIGroupInfo struct {
	PrioritizedVersions          []schema.GroupVersion
	VersionedResourcesStorageMap map[string]map[string]*rest.Resource
	Scheme                       *runtime.Scheme
	// SchemeName is documented at endpoints.APIGroupVersion.
	SchemeName string
	// TypeConverter is documented at endpoints.APIGroupVersion.
	TypeConverter func() (managedfields.TypeConverter, error)
	// PostStartHooks run after the server has started, if the group is installed.
	PostStartHooks []PostStartHook
}
