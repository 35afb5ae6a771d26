package openapi

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/util"
)

const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."

// everywhere are the kinds of requests and watches, which every group version
// has: clients look them up under the group version that they speak to.
var everywhere = []string{"DeleteOptions", "WatchEvent"}

// serverVersions are group versions of kube-apiserver that client-go has not.
var serverVersions = []schema.GroupVersion{
	{Group: "admission.k8s.io", Version: "v1"}, {Group: "admission.k8s.io", Version: "v1beta1"},
	{Group: "apiextensions.k8s.io", Version: "v1"}, {Group: "apiextensions.k8s.io", Version: "v1beta1"},
	{Group: "apiregistration.k8s.io", Version: "v1"}, {Group: "apiregistration.k8s.io", Version: "v1beta1"},
	{Group: "imagepolicy.k8s.io", Version: "v1alpha1"},
}

// ClientVersions returns the group versions that client-go has types of, served
// or not, in order. The documents of custom resources name them.
func ClientVersions() []schema.GroupVersion {
	return inOrder(scheme.Scheme.PrioritizedVersionsAllGroups())
}

// allVersions are those of kube-apiserver, in order.
func allVersions() []schema.GroupVersion {
	return inOrder(append(scheme.Scheme.PrioritizedVersionsAllGroups(), serverVersions...))
}

func inOrder(gvs []schema.GroupVersion) []schema.GroupVersion {
	slices.SortFunc(gvs, func(a, b schema.GroupVersion) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version))
	})
	return slices.Compact(gvs)
}

// kindsByModel maps model names to the kinds of the scheme that they describe,
// in order of group, version and kind; versions are all those that the server has.
func kindsByModel(s *runtime.Scheme, versions []schema.GroupVersion) map[string][]schema.GroupVersionKind {
	out := map[string][]schema.GroupVersionKind{}
	for gvk := range s.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		obj, err := s.New(gvk)
		if err != nil {
			continue
		}
		name := util.GetCanonicalTypeName(obj)
		out[name] = append(out[name], gvk)
	}
	for _, kinds := range out {
		slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	}
	for _, kind := range everywhere {
		out[metaPackage+kind] = nil
		for _, gv := range versions {
			out[metaPackage+kind] = append(out[metaPackage+kind], gv.WithKind(kind))
		}
	}
	return out
}
