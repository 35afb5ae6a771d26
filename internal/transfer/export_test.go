package transfer

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	discoveryfake "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func configMap(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(namespace)
	o.SetName("in-" + namespace)
	return o
}

// An export of some namespaces requests only their objects, because its user may not read others.
func TestExportAsksForTheNamespacesAlone(t *testing.T) {
	configMaps := resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, namespaced: true}
	namespaces := resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		configMaps.GroupVersionResource: "ConfigMapList", namespaces.GroupVersionResource: "NamespaceList",
	}, configMap("one"), configMap("two"), configMap("three"))
	e := exporter{server: &server{objects: client}, what: Selection{Namespaces: []string{"one", "two"}}, resources: []resource{configMaps, namespaces}, progress: io.Discard}
	var out strings.Builder
	if err := e.all(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	if e.count != 2 || !strings.Contains(out.String(), "in-one") || !strings.Contains(out.String(), "in-two") {
		t.Errorf("exported %d:\n%s", e.count, out.String())
	}
	var asked []string
	for _, a := range client.Actions() {
		asked = append(asked, a.GetResource().Resource+" "+a.GetNamespace()+a.(clienttesting.ListAction).GetListRestrictions().Fields.String())
	}
	if want := []string{"configmaps one", "configmaps two", "namespaces metadata.name=one", "namespaces metadata.name=two"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// A group that another server stores need not be available; a local one must be.
func TestResourcesOfUnavailableGroups(t *testing.T) {
	d := &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}}
	for _, gv := range []string{"v1", "metrics.k8s.io/v1"} {
		d.Resources = append(d.Resources, &metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Verbs: []string{"list", "create"}}}})
	}
	d.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("unavailable")
	})
	s := &server{discovery: d}
	if _, err := s.resources(map[string]bool{"": true, "metrics.k8s.io": true}); err != nil {
		t.Errorf("all are kept elsewhere: %v", err)
	}
	if _, err := s.resources(map[string]bool{"metrics.k8s.io": true}); err == nil {
		t.Error("the core group is kept here")
	}
}
