package apiextensions

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/openapi"
	"triplane.dev/generic/api/discovery"
)

// A CRD of a version that the server has itself neither replaces nor removes it.
func TestBuiltInVersionsStay(t *testing.T) {
	gv := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	groups := discovery.NewGroups()
	groups.Set(&discovery.Version{GroupVersion: gv, Resources: []metav1.APIResource{{Name: "storageclasses"}}})
	p := &publisher{catalogue: newCatalogue(), discovery: groups, openapi: func(schema.GroupVersion, func() []openapi.Definition) {
		t.Error("the version's OpenAPI changed")
	}}
	p.publish(gv)
	if !groups.Serves(gv, "storageclasses") {
		t.Error("the version is gone")
	}
}

func TestStorageVersionHash(t *testing.T) {
	for _, served := range []bool{true, false} {
		crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: served, Storage: true}, {Name: "v2", Served: true}},
		}}
		if hash := storageVersionHash(crd); (hash != "") != served {
			t.Errorf("served %v: %q", served, hash)
		}
	}
}
