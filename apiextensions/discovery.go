package apiextensions

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/customresource"
	"triplane.dev/apiextensions/openapi"
	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/discovery"
)

// publisher publishes the resources of CRDs in discovery and OpenAPI. The cost of a change grows with the versions of the
// CRD, not with the number of CRDs: the resources of a group version are joined on request.
type publisher struct {
	catalogue *catalogue
	discovery *discovery.Groups
	// openapi takes the documents of versions that changed, nil for those that
	// went.
	openapi func(gv schema.GroupVersion, crds func() []openapi.Definition)
}

// changed renews the versions that a CRD serves or served.
func (p *publisher) changed(old, now *entry) {
	before, after := established(old), established(now)
	if looksSame(before, after) {
		return
	}
	touched := servedVersions(before)
	for _, gv := range servedVersions(after) {
		if !slices.Contains(touched, gv) {
			touched = append(touched, gv)
		}
	}
	for _, gv := range touched {
		p.publish(gv)
	}
}

// established returns the CRD of a resource if it is shown, else nil.
func established(res *entry) definitionObject {
	if res == nil || !validation.IsTrue(res.crd, apiextensionsv1.Established) {
		return nil
	}
	return res.crd
}

// looksSame reports whether a change shows in no document.
func looksSame(old, crd definitionObject) bool {
	if old == nil || crd == nil {
		return old == crd
	}
	return old.UID == crd.UID && old.Generation == crd.Generation &&
		equality.Semantic.DeepEqual(old.Status.AcceptedNames, crd.Status.AcceptedNames) &&
		validation.IsTrue(old, apiextensionsv1.Terminating) == validation.IsTrue(crd, apiextensionsv1.Terminating)
}

// publish renews a version. Those that the server has itself are not touched: their
// paths lead to what is built in.
func (p *publisher) publish(gv schema.GroupVersion) {
	if v, found := p.discovery.Get(gv); found && !v.Custom {
		return
	}
	for range p.catalogue.serving(gv) {
		p.discovery.Set(&discovery.Version{
			GroupVersion: gv, Custom: true, GroupPriority: discovery.CustomGroupPriority,
			VersionPriority: discovery.CustomVersionPriority,
			Later:           sync.OnceValue(func() []metav1.APIResource { return p.resources(gv) }), FullKinds: true,
		})
		p.openapi(gv, func() []openapi.Definition { return p.definitions(gv) })
		return
	}
	p.discovery.Remove(gv)
	p.openapi(gv, nil)
}

func (p *publisher) resources(gv schema.GroupVersion) []metav1.APIResource {
	var out []metav1.APIResource
	for res := range p.catalogue.serving(gv) {
		if v := servedVersion(res.crd, gv.Version); v != nil {
			out = append(out, resourcesOf(res.crd, v)...)
		}
	}
	return out
}

func (p *publisher) definitions(gv schema.GroupVersion) []openapi.Definition {
	var out []openapi.Definition
	for res := range p.catalogue.serving(gv) {
		out = append(out, res)
	}
	return out
}

// servedVersions are the group versions that a CRD, nil for none, serves.
func servedVersions(crd definitionObject) []schema.GroupVersion {
	if crd == nil {
		return nil
	}
	var out []schema.GroupVersion
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Served {
			out = append(out, schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[i].Name})
		}
	}
	return out
}

func servedVersion(crd definitionObject, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == name && v.Served {
			return v
		}
	}
	return nil
}

func resourcesOf(crd definitionObject, v *apiextensionsv1.CustomResourceDefinitionVersion) []metav1.APIResource {
	names, namespaced := &crd.Status.AcceptedNames, crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	verbs := metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	if validation.IsTrue(crd, apiextensionsv1.Terminating) {
		verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	}
	out := []metav1.APIResource{{
		Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind,
		Verbs: verbs, ShortNames: names.ShortNames, Categories: names.Categories,
		StorageVersionHash: storageVersionHash(crd),
	}}
	if v.Subresources == nil {
		return out
	}
	sub := metav1.Verbs{"get", "patch", "update"}
	if v.Subresources.Status != nil {
		out = append(out, metav1.APIResource{Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind,
			Verbs: sub})
	}
	if v.Subresources.Scale != nil {
		out = append(out, metav1.APIResource{
			Group: customresource.ScaleKind.Group, Version: customresource.ScaleKind.Version,
			Kind: customresource.ScaleKind.Kind,
			Name: names.Plural + "/scale", Namespaced: namespaced, Verbs: sub,
		})
	}
	return out
}

// storageVersionHash says nothing of a storage version that is not served.
func storageVersionHash(crd definitionObject) string {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Storage && v.Served {
			return discovery.StorageVersionHash(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name,
				Kind: crd.Spec.Names.Kind})
		}
	}
	return ""
}
