package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/storage/wire"
)

// documentKey names a document that is kept until the next change.
type documentKey struct {
	kind      documentKind
	mediaType wire.MediaType
}

type documentKind uint8

const (
	plainGroups documentKind = iota
	aggregatedGroups
	aggregatedCore
)

// document is an encoded answer. Its bytes are never changed.
type document struct {
	body []byte
	etag string // quoted; "" for documents without one
}

// part is the contribution of one group to a JSON document.
type part struct {
	json []byte
	sum  [sha512.Size256]byte
}

func makePart(v any) (*part, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &part{json: b, sum: sha512.Sum512_256(b)}, nil
}

// document returns a document of all groups, making it if it was not asked for
// since the last change.
func (g *Groups) document(key documentKey) (*document, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.documents[key]
	if g.counted != nil && key.kind == aggregatedGroups {
		g.counted(d != nil)
	}
	if d != nil {
		return d, nil
	}
	d, err := g.makeDocument(key)
	if err != nil {
		return nil, err
	}
	g.documents[key] = d
	return d, nil
}

func (g *Groups) makeDocument(key documentKey) (*document, error) {
	var groups []*group
	switch core := g.groups[""]; {
	case key.kind == plainGroups:
		groups = g.order((*group).service)
	case key.kind == aggregatedGroups:
		groups = g.order((*group).named)
	case core != nil:
		groups = []*group{core}
	}
	groups = slices.DeleteFunc(groups, func(e *group) bool { return len(e.listed(key.kind != plainGroups)) == 0 })
	d, err := joinParts(key.kind, groups)
	if err != nil || key.mediaType == wire.JSON {
		return d, err
	}
	if d.body, err = encode(listOf(key.kind, groups), key.mediaType); err != nil {
		return nil, err
	}
	return d, nil
}

// joinParts makes the JSON document of groups.
func joinParts(kind documentKind, groups []*group) (*document, error) {
	head, aggregated := `{"kind":"APIGroupList","apiVersion":"v1","groups":[`, kind != plainGroups
	if aggregated {
		head = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[`
	}
	var b bytes.Buffer
	sum := sha512.New512_256()
	b.WriteString(head)
	for i, e := range groups {
		p, err := e.part(aggregated)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(p.json)
		sum.Write(p.sum[:])
	}
	b.WriteString("]}\n")
	d := &document{body: b.Bytes()}
	if aggregated {
		d.etag = fmt.Sprintf(`"%X"`, sum.Sum(nil))
	}
	return d, nil
}

func (e *group) part(aggregated bool) (*part, error) {
	kept := &e.plain
	if aggregated {
		kept = &e.aggregated
	}
	if *kept != nil {
		return *kept, nil
	}
	var v any
	if aggregated {
		v = e.discovery()
	} else {
		v = e.apiGroup()
	}
	p, err := makePart(v)
	*kept = p
	return p, err
}

func listOf(kind documentKind, groups []*group) runtime.Object {
	if kind == plainGroups {
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, e := range groups {
			list.Groups = append(list.Groups, *e.apiGroup())
		}
		return list
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String()},
	}
	for _, e := range groups {
		list.Items = append(list.Items, *e.discovery())
	}
	return list
}

// apiGroup is the group as /apis and /apis/GROUP show it, with at least one version.
func (e *group) apiGroup() *metav1.APIGroup {
	g := &metav1.APIGroup{Name: e.name}
	for _, v := range e.listed(false) {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: v.GroupVersion.String(),
			Version:      v.GroupVersion.Version,
		})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

// discovery is the group in the aggregated form.
func (e *group) discovery() *apidiscoveryv2.APIGroupDiscovery {
	g := &apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: e.name}}
	for _, v := range e.listed(true) {
		d := apidiscoveryv2.APIVersionDiscovery{
			Version:   v.GroupVersion.Version,
			Resources: v.Aggregated,
			Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		}
		if d.Resources == nil {
			d.Resources = aggregate(v)
		}
		if v.Stale {
			d.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
		}
		g.Versions = append(g.Versions, d)
	}
	return g
}

// aggregate turns the flat list of resources into resources with their
// subresources.
func aggregate(v *Version) []apidiscoveryv2.APIResourceDiscovery {
	var resources []apidiscoveryv2.APIResourceDiscovery
	at := map[string]int{}
	index := func(name string, r metav1.APIResource) int {
		i, ok := at[name]
		if !ok {
			i = len(resources)
			at[name] = i
			resources = append(resources, apidiscoveryv2.APIResourceDiscovery{Resource: name, Scope: scope(r)})
		}
		return i
	}
	for _, r := range v.List() {
		name, sub, isSub := strings.Cut(r.Name, "/")
		d := &resources[index(name, r):][0]
		if isSub {
			d.Subresources = append(d.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: v.kind(r), Verbs: r.Verbs,
			})
			continue
		}
		d.ResponseKind = v.kind(r)
		d.SingularResource, d.ShortNames, d.Categories, d.Verbs = r.SingularName, r.ShortNames, r.Categories, r.Verbs
	}
	// A resource that only has subresources still needs a kind, which is empty.
	for i := range resources {
		if r := &resources[i]; r.ResponseKind == nil && len(r.Subresources) > 0 {
			r.ResponseKind = &metav1.GroupVersionKind{}
		}
	}
	return resources
}

func (v Version) kind(r metav1.APIResource) *metav1.GroupVersionKind {
	k := &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
	if v.FullKinds && k.Group == "" && k.Version == "" {
		k.Group, k.Version = v.GroupVersion.Group, v.GroupVersion.Version
	}
	return k
}

func scope(r metav1.APIResource) apidiscoveryv2.ResourceScope {
	if r.Namespaced {
		return apidiscoveryv2.ScopeNamespace
	}
	return apidiscoveryv2.ScopeCluster
}

// encode writes an object that names its kind.
func encode(obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	b, err := wire.Marshal(obj, mt)
	if mt == wire.JSON {
		b = append(b, '\n')
	}
	return b, err
}
