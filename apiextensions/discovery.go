package apiextensions

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/apiextensions/validation"
	"triplane/generic/discovery"
)

// publisher enters what CRDs define into discovery. It belongs to one goroutine.
type publisher struct {
	discovery *discovery.Groups
	groups    map[string]map[string]definitionObject // by group and name
	published map[schema.GroupVersion]bool
	// documents are told of versions that changed, and of those that are gone.
	changed func(gv schema.GroupVersion, crds []definitionObject)
	gone    func(gv schema.GroupVersion)
}

func newPublisher(d *discovery.Groups) *publisher {
	return &publisher{
		discovery: d, groups: map[string]map[string]definitionObject{}, published: map[schema.GroupVersion]bool{},
		changed: func(schema.GroupVersion, []definitionObject) {}, gone: func(schema.GroupVersion) {},
	}
}

func (p *publisher) set(crd definitionObject) {
	if !validation.IsTrue(crd, apiextensionsv1.Established) {
		if _, was := p.groups[crd.Spec.Group][crd.Name]; was {
			p.remove(crd)
		}
		return
	}
	group := p.groups[crd.Spec.Group]
	if group == nil {
		group = map[string]definitionObject{}
		p.groups[crd.Spec.Group] = group
	}
	old := group[crd.Name]
	group[crd.Name] = crd
	p.refresh(crd.Spec.Group, crd, old)
}

func (p *publisher) remove(crd definitionObject) {
	group := p.groups[crd.Spec.Group]
	old := group[crd.Name]
	if old == nil {
		return
	}
	delete(group, crd.Name)
	if len(group) == 0 {
		delete(p.groups, crd.Spec.Group)
	}
	p.refresh(crd.Spec.Group, old)
}

// refresh renews the versions that any of the CRDs serves or served.
func (p *publisher) refresh(group string, touched ...definitionObject) {
	versions := map[string]bool{}
	for _, crd := range touched {
		if crd == nil {
			continue
		}
		for i := range crd.Spec.Versions {
			versions[crd.Spec.Versions[i].Name] = true
		}
	}
	var crds []definitionObject
	for _, crd := range p.groups[group] {
		crds = append(crds, crd)
	}
	slices.SortFunc(crds, func(a, b definitionObject) int { return cmp.Compare(a.Name, b.Name) })
	for version := range versions {
		p.publish(schema.GroupVersion{Group: group, Version: version}, crds)
	}
}

func (p *publisher) publish(gv schema.GroupVersion, crds []definitionObject) {
	var resources []metav1.APIResource
	var serving []definitionObject
	for _, crd := range crds {
		if v := servedVersion(crd, gv.Version); v != nil {
			resources = append(resources, resourcesOf(crd, v)...)
			serving = append(serving, crd)
		}
	}
	if len(serving) == 0 {
		if p.published[gv] {
			delete(p.published, gv)
			p.discovery.Remove(gv)
			p.gone(gv)
		}
		return
	}
	p.published[gv] = true
	p.discovery.Set(discovery.Version{
		GroupVersion: gv, GroupPriority: discovery.CustomGroupPriority, VersionPriority: discovery.CustomVersionPriority,
		Resources: resources, FullKinds: true,
	})
	p.changed(gv, serving)
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
	}}
	if v.Subresources == nil {
		return out
	}
	sub := metav1.Verbs{"get", "patch", "update"}
	if v.Subresources.Status != nil {
		out = append(out, metav1.APIResource{Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind, Verbs: sub})
	}
	if v.Subresources.Scale != nil {
		out = append(out, metav1.APIResource{
			Group: scaleGVK.Group, Version: scaleGVK.Version, Kind: scaleGVK.Kind,
			Name: names.Plural + "/scale", Namespaced: namespaced, Verbs: sub,
		})
	}
	return out
}
