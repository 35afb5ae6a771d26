package apiextensions

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/apiextensions/openapi"
	"triplane/generic/discovery"
)

// A CRD of a version that the server has itself neither replaces nor removes it.
func TestBuiltInVersionsStay(t *testing.T) {
	gv := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	groups := discovery.NewGroups()
	groups.Set(discovery.Version{GroupVersion: gv, Resources: []metav1.APIResource{{Name: "storageclasses"}}})
	p := &publisher{catalogue: newCatalogue(), discovery: groups, openapi: func(schema.GroupVersion, func() []openapi.Definition) {
		t.Error("the version's OpenAPI changed")
	}}
	p.publish(gv)
	if !groups.Serves(gv, "storageclasses") {
		t.Error("the version is gone")
	}
}
