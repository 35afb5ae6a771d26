package apiextensions

// resource is a CRD of the catalogue. What nobody needs before its objects are asked for, or
// its documents, is not kept decoded: a server has many CRDs, with large schemas, and its
// clients use few of them.
type resource struct {
	// crd is the outline: the CRD without schemas, managed fields and the configuration that
	// kubectl leaves in an annotation. One that preserves unknown fields is whole: the
	// controller looks into its schemas.
	crd definitionObject
	// state is what the CRD shares with the one before an update of its status.
	state *state
}

func newResource(crd definitionObject, stored []byte, state *state) *resource {
	state.stored.Store(&stored)
	return &resource{crd: crd, state: state}
}

// Outline returns the CRD without its schemas.
func (res *resource) Outline() definitionObject { return res.crd }

// Schemas returns the schemas of its versions, those that have one, as storage holds them.
func (res *resource) Schemas() (map[string][]byte, error) { return res.state.schemas() }
