package aggregator

import (
	"encoding/json"
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregatedDiscovery is the media type of aggregated discovery (KEP-3352).
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// remoteDiscovery is the discovery of an external server for a group version.
type remoteDiscovery struct {
	resources []metav1.APIResource
	// aggregated are the resources in aggregated discovery, nil if the server does not support it.
	aggregated []apidiscoveryv2.APIResourceDiscovery
	// current is whether the last request for it succeeded.
	current bool
}

// parseAggregated returns the resources of a group version in aggregated discovery, with the groups of kinds. The
// result is not current if the document does not contain the group version.
func parseAggregated(document []byte, gv schema.GroupVersion) (l remoteDiscovery) {
	_ = eachVersion(document, func(of schema.GroupVersion, resources []apidiscoveryv2.APIResourceDiscovery) {
		if of == gv {
			l = remoteDiscovery{aggregated: resources, current: true}
		}
	})
	for i := range l.aggregated {
		r := &l.aggregated[i]
		for _, legacy := range legacyResources(r, gv) {
			if legacy.Group == "" && legacy.Version == "" {
				legacy.Group, legacy.Version = gv.Group, gv.Version
			}
			l.resources = append(l.resources, legacy)
		}
		fillKinds(r)
	}
	return l
}

// fillKinds sets an empty kind on a resource and its subresources if it is missing, because clients expect one.
func fillKinds(r *apidiscoveryv2.APIResourceDiscovery) {
	if r.ResponseKind == nil {
		r.ResponseKind = &metav1.GroupVersionKind{}
	}
	for i := range r.Subresources {
		if sub := &r.Subresources[i]; sub.ResponseKind == nil {
			sub.ResponseKind = &metav1.GroupVersionKind{}
		}
	}
}

// legacyResources returns a resource and its subresources as one list. If the resource has no kind, it returns
// only the subresources.
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
			out = append(out, legacyResource(r.Resource+"/"+sub.Subresource, sub.ResponseKind, sub.Verbs, namespaced,
				gv))
		}
	}
	return out
}

func legacyResource(
	name string, kind *metav1.GroupVersionKind, verbs []string, namespaced bool, gv schema.GroupVersion,
) metav1.APIResource {
	r := metav1.APIResource{Name: name, Namespaced: namespaced, Kind: kind.Kind, Verbs: verbs}
	if kind.Version != "" && (kind.Group != gv.Group || kind.Version != gv.Version) {
		r.Group, r.Version = kind.Group, kind.Version
	}
	return r
}

// aggregatedVersions returns the resources of all group versions in aggregated discovery.
func aggregatedVersions(document []byte) (map[schema.GroupVersion][]metav1.APIResource, error) {
	out := map[schema.GroupVersion][]metav1.APIResource{}
	err := eachVersion(document, func(gv schema.GroupVersion, resources []apidiscoveryv2.APIResourceDiscovery) {
		out[gv] = nil
		for i := range resources {
			out[gv] = append(out[gv], legacyResources(&resources[i], gv)...)
		}
	})
	return out, err
}

// eachVersion calls f for each group version in aggregated discovery.
func eachVersion(document []byte, f func(schema.GroupVersion, []apidiscoveryv2.APIResourceDiscovery)) error {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return err
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return fmt.Errorf("%q is not aggregated discovery", list.Kind)
	}
	for i := range list.Items {
		for _, version := range list.Items[i].Versions {
			f(schema.GroupVersion{Group: list.Items[i].Name, Version: version.Version}, version.Resources)
		}
	}
	return nil
}
