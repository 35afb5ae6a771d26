package apiextensions

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/apiextensions/validation"
	"triplane/generic/discovery"
)

// publisher enters what CRDs define into discovery. Each change costs as much as
// the CRD has versions, however many CRDs there are: what a group version has is
// put together when somebody asks. One goroutine calls set and remove.
type publisher struct {
	discovery *discovery.Groups
	// changed is told of versions that changed, gone of those that went.
	changed func(gv schema.GroupVersion, crds func() []definitionObject)
	gone    func(gv schema.GroupVersion)

	mu       sync.Mutex
	crds     map[string]definitionObject
	versions map[schema.GroupVersion]map[string]definitionObject // the CRDs that serve them
}

func newPublisher(d *discovery.Groups) *publisher {
	return &publisher{
		discovery: d, crds: map[string]definitionObject{}, versions: map[schema.GroupVersion]map[string]definitionObject{},
		changed: func(schema.GroupVersion, func() []definitionObject) {}, gone: func(schema.GroupVersion) {},
	}
}

func (p *publisher) set(crd definitionObject) {
	if !validation.IsTrue(crd, apiextensionsv1.Established) {
		p.remove(crd)
		return
	}
	p.replace(crd.Name, crd)
}

func (p *publisher) remove(crd definitionObject) { p.replace(crd.Name, nil) }

// replace enters a CRD, nil for none, and renews the versions that it serves or
// served.
func (p *publisher) replace(name string, crd definitionObject) {
	p.mu.Lock()
	old := p.crds[name]
	touched := map[schema.GroupVersion]bool{}
	for _, gv := range servedVersions(old) {
		delete(p.versions[gv], name)
		touched[gv] = true
	}
	delete(p.crds, name)
	if crd != nil {
		p.crds[name] = crd
	}
	for _, gv := range servedVersions(crd) {
		if p.versions[gv] == nil {
			p.versions[gv] = map[string]definitionObject{}
		}
		p.versions[gv][name] = crd
		touched[gv] = true
	}
	p.mu.Unlock()
	if looksSame(old, crd) {
		return
	}
	for gv := range touched {
		p.publish(gv)
	}
}

// looksSame tells whether a change shows in no document.
func looksSame(old, crd definitionObject) bool {
	if old == nil || crd == nil {
		return old == crd
	}
	return old.UID == crd.UID && old.Generation == crd.Generation &&
		equality.Semantic.DeepEqual(old.Status.AcceptedNames, crd.Status.AcceptedNames) &&
		validation.IsTrue(old, apiextensionsv1.Terminating) == validation.IsTrue(crd, apiextensionsv1.Terminating)
}

func (p *publisher) publish(gv schema.GroupVersion) {
	p.mu.Lock()
	served := len(p.versions[gv]) > 0
	if !served {
		delete(p.versions, gv)
	}
	p.mu.Unlock()
	if !served {
		p.discovery.Remove(gv)
		p.gone(gv)
		return
	}
	p.discovery.Set(discovery.Version{
		GroupVersion: gv, GroupPriority: discovery.CustomGroupPriority, VersionPriority: discovery.CustomVersionPriority,
		Later: sync.OnceValue(func() []metav1.APIResource { return p.resources(gv) }), FullKinds: true,
	})
	p.changed(gv, func() []definitionObject { return p.serving(gv) })
}

// serving returns the CRDs that serve a version, in order of their names.
func (p *publisher) serving(gv schema.GroupVersion) []definitionObject {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.versions[gv]), func(a, b definitionObject) int { return cmp.Compare(a.Name, b.Name) })
}

func (p *publisher) resources(gv schema.GroupVersion) []metav1.APIResource {
	var out []metav1.APIResource
	for _, crd := range p.serving(gv) {
		if v := servedVersion(crd, gv.Version); v != nil {
			out = append(out, resourcesOf(crd, v)...)
		}
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
