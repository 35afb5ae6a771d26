package apiextensions

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"

	"triplane.dev/apiextensions/customresourcedefinition"
	"triplane.dev/generic/storage"
)

// entry is a CRD of the catalogue. The parts that only requests for its objects or documents need stay encoded: a server
// has many CRDs with large schemas, of which clients use few.
type entry struct {
	// crd is the outline: the CRD without schemas, managed fields and the configuration that
	// kubectl leaves in an annotation. One that preserves unknown fields is whole: the
	// controller looks into its schemas.
	crd definitionObject
	// generation is what the CRD shares with the one before an update of its status.
	generation *generation
}

func newEntry(crd definitionObject, stored *storage.Record, g *generation) *entry {
	g.stored.Store(stored)
	return &entry{crd: crd, generation: g}
}

// Outline returns the CRD without its schemas.
func (res *entry) Outline() definitionObject { return res.crd }

// Schemas returns the schemas of its versions, those that have one, as storage holds them.
func (res *entry) Schemas() (map[string][]byte, error) { return res.generation.schemas() }

// generation is what belongs to one spec of a CRD, whatever its status: what serves its resource is
// made once a generation.
type generation struct {
	// stored is the CRD as storage holds it. Its status may be older.
	stored      atomic.Pointer[storage.Record]
	terminating atomic.Bool
	mu          sync.Mutex
	replaced    bool // by another generation: nothing is made any more
	endpoint    atomic.Pointer[endpoint]
	// retired is closed when the handler has retired the generation before; nil if there was none.
	retired chan struct{}
}

// schemas returns the schemas of the versions that have one, as storage holds them.
func (g *generation) schemas() (map[string][]byte, error) {
	return customresourcedefinition.Schemas(g.stored.Load().Value())
}

// generationOf is the generation of a CRD: that of the one before where only its status
// has changed.
func generationOf(old *entry, crd definitionObject) *generation {
	g := &generation{}
	if old != nil {
		if sameSpec(old.crd, crd) {
			g = old.generation
		} else {
			g.retired = make(chan struct{})
		}
	}
	g.terminating.Store(crd.DeletionTimestamp != nil)
	return g
}

// sameSpec reports whether custom resources are served alike. The generation
// moves with the spec.
func sameSpec(a, b definitionObject) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		equality.Semantic.DeepEqual(a.Status.AcceptedNames, b.Status.AcceptedNames)
}
