package customresourcedefinition

import (
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
)

// Resources are the CRDs, which are stored in a version that is not served, and their status.
func Resources(store *registry.Store[Object], gv schema.GroupVersion, settled *Settled) map[string]*rest.Resource {
	all, plural := store.Resources(gv), store.Kind().Names.Plural
	all[plural].StorageVersion = apiextensionsv1beta1.SchemeGroupVersion.WithKind(GVK.Kind)
	status := all[plural+"/status"]
	status.NoTable, status.Update = true, settled.after(status.Update)
	return all
}
