package group

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
)

// Outline says which API group has which resources. The first chain of a process records it while it builds all groups;
// further chains (Stores.Later) build a group when one of its resources is first needed. It is immutable afterwards.
type Outline struct {
	// Versions are the served versions of each group, as discovery shows them, in the order of installation.
	Versions [][]discovery.Version

	of       map[schema.GroupResource]int
	types    map[reflect.Type]int // by the Go type of objects
	prefixes map[schema.GroupResource]string
	at       map[string]schema.GroupResource // by prefix, without the trailing slash
}

func newOutline() *Outline {
	return &Outline{of: map[schema.GroupResource]int{}, types: map[reflect.Type]int{},
		prefixes: map[schema.GroupResource]string{}, at: map[string]schema.GroupResource{}}
}

// Built records the served versions of the group whose resources were added since the last call.
func (s *Stores) Built(served []discovery.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outline.Versions = append(s.outline.Versions, served)
}

// Outline returns what was recorded.
func (s *Stores) Outline() *Outline { return s.outline }

// record records a resource of the group that is being built. The caller holds s.mu.
func (o *Outline) record(gr schema.GroupResource) { o.of[gr] = len(o.Versions) }

// later builds groups on demand.
type later struct {
	*Outline
	builds []func() error // each builds a group once
	prefix string         // of all keys of the chain, with a trailing slash
}

// Later makes the stores of NewStoresLike build groups on demand: build builds a group by its index in Versions. prefix
// is that of the keys of the chain, with a trailing slash.
func (s *Stores) Later(prefix string, build func(group int) error) {
	l := &later{Outline: s.like, prefix: prefix, builds: make([]func() error, len(s.like.Versions))}
	for i := range l.builds {
		l.builds[i] = sync.OnceValue(func() error { return build(i) })
	}
	s.later = l
}

// Build builds a group of Later, if it is not built yet.
func (s *Stores) Build(group int) error { return s.later.builds[group]() }

// need builds the group of a resource.
func (s *Stores) need(gr schema.GroupResource) {
	if s.later == nil {
		return
	}
	if group, ok := s.later.of[gr]; ok {
		_ = s.Build(group) // the resource is absent after an error, which requests get
	}
}

// needType builds the group whose objects have a Go type.
func (s *Stores) needType(t reflect.Type) {
	if s.later == nil {
		return
	}
	if group, ok := s.later.types[t]; ok {
		_ = s.Build(group) // as in need
	}
}

// KeyPrefix returns the prefix of the keys of a stored resource, with a trailing slash; false if there is none. It
// builds no group.
func (s *Stores) KeyPrefix(gr schema.GroupResource) (string, bool) {
	if s.later != nil {
		below, ok := s.later.prefixes[gr]
		return s.later.prefix + below, ok
	}
	if store := s.Store(gr); store != nil {
		return store.KeyPrefix(), true
	}
	return "", false
}

// At returns the built-in resource whose keys are below a prefix of the chain's, without a trailing slash. Of two with
// the same keys it is the one that was added first.
func (s *Stores) At(prefix string) (schema.GroupResource, bool) {
	o := s.outline
	if s.like != nil {
		o = s.like
	}
	gr, ok := o.at[prefix]
	return gr, ok
}
