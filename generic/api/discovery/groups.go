package discovery

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"triplane.dev/generic/api/negotiation"
)

// Version is a version of a group as discovery shows it. The group "" is the
// core group, which is at /api.
type Version struct {
	GroupVersion schema.GroupVersion
	// GroupPriority orders groups, the highest of a group's versions counts;
	// VersionPriority orders the versions of a group. Higher is earlier.
	GroupPriority, VersionPriority int32
	// Resources and subresources, in the order of the version's document.
	Resources []metav1.APIResource
	// Later, where not nil, gives Resources when they are asked for, so that a
	// version with thousands of them costs nothing at each change. It is called
	// from any goroutine, and must not call Groups.
	Later func() []metav1.APIResource
	// Aggregated is what the aggregated form shows; nil derives it from
	// Resources.
	Aggregated []apidiscoveryv2.APIResourceDiscovery
	// Custom says that CustomResourceDefinitions define the version.
	Custom bool
	// Stale says that the version's server did not answer lately.
	Stale bool
	// Forms are those in which the version is listed.
	Forms Forms
	// FullKinds fills in the group and version of kinds in the aggregated form
	// where they are those of the resource, as is done for custom resources.
	FullKinds bool
}

// Forms are forms of the list of groups. The zero value is both.
type Forms int

const (
	// PlainForm is /apis as an APIGroupList, and /apis/GROUP.
	PlainForm Forms = iota + 1
	// AggregatedForm is /apis as an APIGroupDiscoveryList.
	AggregatedForm
)

// has reports whether a form is the aggregated one or not.
func (f Forms) has(aggregated bool) bool { return f == 0 || (f == AggregatedForm) == aggregated }

// List returns the resources and subresources.
func (v *Version) List() []metav1.APIResource {
	if v.Later != nil {
		return v.Later()
	}
	return v.Resources
}

// Groups is the set of served group versions. It is safe for concurrent use.
type Groups struct {
	mu        sync.Mutex
	groups    map[string]*group
	changed   chan struct{}
	followers map[*Following]struct{}
	// documents made since the last change of any group
	documents map[documentKey]*document
	// rules are what documents are served as.
	rules negotiation.Rules
	// unhashed hides in which version resources are stored.
	unhashed bool
	// counted learns of each request for the aggregated form, nil of none.
	counted func(kept bool)
}

// group is one group with what was made from it since it changed.
type group struct {
	name     string
	versions []*Version // in the order of the documents; replaced by each change

	plain, aggregated *part // nil before they are made
}

// NewGroups returns an empty set.
func NewGroups() *Groups {
	return &Groups{groups: map[string]*group{}, changed: make(chan struct{}), documents: map[documentKey]*document{},
		rules: negotiation.Rules{Protobuf: true}}
}

// ServeCBOR has documents served as CBOR, too. It is called before the groups are served.
func (g *Groups) ServeCBOR() { g.rules.CBOR = true }

// HideStorageVersions leaves the hashes of storage versions out of what is set from now
// on.
func (g *Groups) HideStorageVersions() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unhashed = true
}

// CountAggregated has f called for each request for the aggregated form of all groups; kept
// says that the document was made before. It is called before the groups are served.
func (g *Groups) CountAggregated(f func(kept bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counted = f
}

// Set enters a version, or replaces it. v must not be changed afterwards; several Groups can share it.
func (g *Groups) Set(v *Version) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unhashed {
		unhashed := *v
		v = &unhashed
		v.Resources = slices.Clone(v.Resources)
		for i := range v.Resources {
			v.Resources[i].StorageVersionHash = ""
		}
	}
	e := g.groups[v.GroupVersion.Group]
	if e == nil {
		e = &group{name: v.GroupVersion.Group}
		g.groups[e.name] = e
	}
	e.replace(v.GroupVersion.Version, v)
	g.touch(e)
	g.notify(v.GroupVersion)
}

// Remove takes a version out, and the group with its last one. It returns
// whether it was there.
func (g *Groups) Remove(gv schema.GroupVersion) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.groups[gv.Group]
	if e == nil {
		return false
	}
	if e.version(gv.Version) == nil {
		return false
	}
	e.replace(gv.Version)
	if len(e.versions) == 0 {
		delete(g.groups, gv.Group)
	}
	g.touch(e)
	g.notify(gv)
	return true
}

// Get returns a version.
func (g *Groups) Get(gv schema.GroupVersion) (Version, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.groups[gv.Group]
	if e == nil {
		return Version{}, false
	}
	v := e.version(gv.Version)
	if v == nil {
		return Version{}, false
	}
	return *v, true
}

// ResourceOf returns the resource that serves a kind of a version; false if there
// is none.
func (g *Groups) ResourceOf(kind schema.GroupVersionKind) (resource metav1.APIResource, ok bool) {
	v, ok := g.Get(kind.GroupVersion())
	if !ok {
		return metav1.APIResource{}, false
	}
	r, ok := v.ResourceOf(kind.Kind)
	if !ok {
		return metav1.APIResource{}, false
	}
	return *r, true
}

// Serves reports whether a version has a resource or, by its path, subresource.
func (g *Groups) Serves(gv schema.GroupVersion, path string) bool {
	v, ok := g.Get(gv)
	return ok && slices.ContainsFunc(v.List(), func(r metav1.APIResource) bool { return r.Name == path })
}

// ResourceOf returns the resource that serves a kind; false if there is none.
func (v *Version) ResourceOf(kind string) (*metav1.APIResource, bool) {
	list := v.List()
	for i := range list {
		if r := &list[i]; r.Kind == kind && !strings.Contains(r.Name, "/") {
			return r, true
		}
	}
	return nil, false
}

// Versions returns all versions in the order of the documents, the core group
// first.
func (g *Groups) Versions() []Version {
	g.mu.Lock()
	defer g.mu.Unlock()
	groups := g.order((*group).named)
	if core := g.groups[""]; core != nil {
		groups = slices.Insert(groups, 0, core)
	}
	var all []Version
	for _, e := range groups {
		for _, v := range e.versions {
			all = append(all, *v)
		}
	}
	return all
}

// Changed returns a channel that is closed at the next change.
func (g *Groups) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Groups) touch(e *group) {
	e.plain, e.aggregated = nil, nil
	clear(g.documents)
	close(g.changed)
	g.changed = make(chan struct{})
}

// order returns the groups below /apis. tie orders those of one priority.
func (g *Groups) order(tie func(*group) string) []*group {
	all := make([]*group, 0, len(g.groups))
	for name, e := range g.groups {
		if name != "" {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(tie(a), tie(b)), cmp.Compare(a.name, b.name))
	})
	return all
}

// listed are the versions in a form.
func (e *group) listed(aggregated bool) []*Version {
	hidden := func(v *Version) bool { return !v.Forms.has(aggregated) }
	if !slices.ContainsFunc(e.versions, hidden) {
		return e.versions
	}
	return slices.DeleteFunc(slices.Clone(e.versions), hidden)
}

func (e *group) named() string { return e.name }

// service is the first name of the APIServices of its versions.
func (e *group) service() string {
	first := slices.MinFunc(e.versions, func(a, b *Version) int {
		return cmp.Compare(a.GroupVersion.Version, b.GroupVersion.Version)
	})
	return first.GroupVersion.Version + "." + e.name
}

func (e *group) priority() int32 {
	var p int32
	for _, v := range e.versions {
		p = max(p, v.GroupPriority)
	}
	return p
}

// version returns a version of the group, or nil.
func (e *group) version(name string) *Version {
	for _, v := range e.versions {
		if v.GroupVersion.Version == name {
			return v
		}
	}
	return nil
}

// replace replaces a version by others.
func (e *group) replace(name string, by ...*Version) {
	versions := make([]*Version, 0, len(e.versions)+len(by))
	for _, v := range e.versions {
		if v.GroupVersion.Version != name {
			versions = append(versions, v)
		}
	}
	e.versions = append(versions, by...)
	slices.SortFunc(e.versions, func(a, b *Version) int {
		return cmp.Or(cmp.Compare(b.VersionPriority, a.VersionPriority),
			version.CompareKubeAwareVersionStrings(b.GroupVersion.Version, a.GroupVersion.Version))
	})
}
