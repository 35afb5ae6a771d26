package kubeapi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes/scheme"
	baseversion "k8s.io/component-base/version"

	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/kubeapi"
)

// leftOut are the versions and kinds of k8s.io/api that the server does not have, with the reasons.
var leftOut = map[string]string{
	"apps/v1beta1":                         "removed in 1.16",
	"apps/v1beta2":                         "removed in 1.16",
	"authentication.k8s.io/v1alpha1":       "removed in 1.33",
	"authentication.k8s.io/v1beta1":        "removed in 1.33",
	"authorization.k8s.io/v1beta1":         "removed in 1.22",
	"batch/v1beta1":                        "removed in 1.25",
	"certificates.k8s.io/v1alpha1":         "removed in 1.37",
	"discovery.k8s.io/v1beta1":             "removed in 1.25",
	"events.k8s.io/v1beta1":                "removed in 1.25",
	"extensions/v1beta1":                   "removed in 1.22",
	"flowcontrol.apiserver.k8s.io/v1beta1": "removed in 1.26",
	"flowcontrol.apiserver.k8s.io/v1beta2": "removed in 1.29",
	"flowcontrol.apiserver.k8s.io/v1beta3": "removed in 1.32",
	"networking.k8s.io/v1beta1":            "removed in 1.37",
	"node.k8s.io/v1alpha1":                 "removed in 1.25",
	"node.k8s.io/v1beta1":                  "removed in 1.25",
	"policy/v1beta1":                       "removed in 1.25",
	"rbac.authorization.k8s.io/v1alpha1":   "removed in 1.23",
	"rbac.authorization.k8s.io/v1beta1":    "removed in 1.22",
	"storage.k8s.io/v1alpha1":              "removed in 1.37",
}

// TestLibraryTypesAreServed: a new release of k8s.io/api has no kind that the server does not know, and no field that
// its documents leave out. What kube-apiserver does not serve either is listed with the reason.
func TestLibraryTypesAreServed(t *testing.T) {
	served := kubeapi.NewScheme()
	documented, err := new(models.Source).Models()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for kind, of := range scheme.Scheme.AllKnownTypes() {
		if kind.Version == "__internal" || !strings.HasPrefix(of.PkgPath(), "k8s.io/api/") {
			continue
		}
		if !served.Recognizes(kind) {
			known := kind.GroupVersion().String()
			if leftOut[known] == "" {
				t.Errorf("%s is neither served nor left out", kind)
			}
			seen[known] = true
			continue
		}
		wantDocumented(t, documented, of, map[reflect.Type]bool{})
	}
	for version := range leftOut {
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		if !seen[version] && !served.IsVersionRegistered(gv) {
			t.Errorf("%s is left out, but k8s.io/api does not have it", version)
		}
	}
}

// withoutResource are the kinds with metadata in served versions of k8s.io/api that no resource has, with the reasons.
var withoutResource = map[string]string{
	"v1.PodStatusResult": "what old kubelets sent",
	"v1.RangeAllocation": "how allocators store ranges, not served",
}

// TestLibraryKindsHaveResources: a version that the server has may get another kind, whose Go type the scheme then
// knows. Each kind of an object is that of a resource or subresource, or listed with the reason.
func TestLibraryKindsHaveResources(t *testing.T) {
	lists := discovered(t)
	served := map[string]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			version := list.GroupVersion
			if r.Version != "" {
				version = schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
			}
			served[version+"."+r.Kind] = true
		}
	}
	for kind, of := range scheme.Scheme.AllKnownTypes() {
		name := kind.GroupVersion().String() + "." + kind.Kind
		_, object := reflect.New(of).Interface().(metav1.Object)
		switch {
		case !object || !strings.HasPrefix(of.PkgPath(), "k8s.io/api/") || leftOut[kind.GroupVersion().String()] != "",
			removed(reflect.New(of).Interface()):
		case served[name] == (withoutResource[name] != ""):
			t.Errorf("%s is neither served nor listed as left out, or both", name)
		}
	}
}

// removed reports whether the release that the libraries are of does not serve a kind any more.
func removed(obj any) bool {
	lifecycle, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	major, minor := lifecycle.APILifecycleRemoved()
	return version.MustParse(baseversion.DefaultKubeBinaryVersion).AtLeast(version.MajorMinor(uint(major), uint(minor)))
}

// wantDocumented requires that the model of a type has all fields, and those of their types.
func wantDocumented(t *testing.T, documented *models.Models, of reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), "k8s.io/api/") || seen[of] {
		return
	}
	seen[of] = true
	name := models.Name(of.PkgPath() + "." + of.Name())
	if !documented.Has(name) {
		return // the lists and options that no document shows
	}
	schemas, err := documented.Schemas("", name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range properties(of) {
		property, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, ok := schemas[name].Properties[property]; !ok {
			t.Errorf("%s has no field %s", name, property)
		}
		wantDocumented(t, documented, f.Type, seen)
	}
}

// properties are the fields of a struct that JSON shows, with those of structs that are inlined.
func properties(of reflect.Type) (all []reflect.StructField) {
	for i := range of.NumField() {
		f := of.Field(i)
		switch property, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case property == "-":
		case property != "":
			all = append(all, f)
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			all = append(all, properties(f.Type)...)
		}
	}
	return all
}
