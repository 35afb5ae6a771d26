package server

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane/generic/api/rest"
)

// APIGroupInfo is an API group to install: its versions, preferred first, and
// what answers each resource ("pods") and subresource ("pods/status") in them.
type APIGroupInfo struct {
	PrioritizedVersions          []schema.GroupVersion
	VersionedResourcesStorageMap map[string]map[string]*rest.Resource
	Scheme                       *runtime.Scheme
	// SchemeName: see endpoints.APIGroupVersion.
	SchemeName string
	// TypeConverter: see endpoints.APIGroupVersion.
	TypeConverter func() (managedfields.TypeConverter, error)
	// PostStartHooks run after the server has started, if the group is installed.
	PostStartHooks []PostStartHook
}
