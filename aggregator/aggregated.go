package aggregator

import (
	"encoding/json"
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregatedDiscovery is the media type of a server's whole discovery, as KEP-3352
// has it.
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// aggregatedResources finds what a server's aggregated discovery says of a group
// version, with the groups of kinds; ok is false where it says nothing.
func aggregatedResources(document []byte, gv schema.GroupVersion) (out []metav1.APIResource, ok bool) {
	all, err := aggregatedVersions(document)
	if err != nil {
		return nil, false
	}
	out, ok = all[gv]
	for i := range out {
		if r := &out[i]; r.Group == "" && r.Version == "" {
			r.Group, r.Version = gv.Group, gv.Version
		}
	}
	return out, ok
}

// legacyResources are a resource and its subresources as one list. A resource without
// a kind has subresources only.
func legacyResources(r *apidiscoveryv2.APIResourceDiscovery, gv schema.GroupVersion) []metav1.APIResource {
	namespaced := r.Scope == apidiscoveryv2.ScopeNamespace
	var out []metav1.APIResource
	if r.ResponseKind != nil {
		main := legacyResource(r.Resource, r.ResponseKind, r.Verbs, namespaced, gv)
		main.SingularName, main.ShortNames, main.Categories = r.SingularResource, r.ShortNames, r.Categories
		out = append(out, main)
	}
	for i := range r.Subresources {
		if sub := &r.Subresources[i]; sub.ResponseKind != nil {
			out = append(out, legacyResource(r.Resource+"/"+sub.Subresource, sub.ResponseKind, sub.Verbs, namespaced, gv))
		}
	}
	return out
}

func legacyResource(name string, kind *metav1.GroupVersionKind, verbs []string, namespaced bool, gv schema.GroupVersion) metav1.APIResource {
	r := metav1.APIResource{Name: name, Namespaced: namespaced, Kind: kind.Kind, Verbs: verbs}
	if kind.Version != "" && (kind.Group != gv.Group || kind.Version != gv.Version) {
		r.Group, r.Version = kind.Group, kind.Version
	}
	return r
}

// aggregatedVersions are the resources of all group versions of a server's aggregated
// discovery.
func aggregatedVersions(document []byte) (map[schema.GroupVersion][]metav1.APIResource, error) {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, fmt.Errorf("%q is no aggregated discovery", list.Kind)
	}
	out := map[schema.GroupVersion][]metav1.APIResource{}
	for i := range list.Items {
		for _, version := range list.Items[i].Versions {
			gv := schema.GroupVersion{Group: list.Items[i].Name, Version: version.Version}
			out[gv] = nil
			for j := range version.Resources {
				out[gv] = append(out[gv], legacyResources(&version.Resources[j], gv)...)
			}
		}
	}
	return out, nil
}
