package apiextensions

import "sync/atomic"

// resource is a CRD of the catalogue. What nobody needs before its objects are asked for, or
// its documents, is not kept decoded: a server has many CRDs, with large schemas, and its
// clients use few of them.
type resource struct {
	// crd is the outline: the CRD without schemas, managed fields and the configuration that
	// kubectl leaves in an annotation. One that preserves unknown fields is whole: the
	// controller looks into its schemas.
	crd definitionObject
	// stored is the CRD as storage holds it, with the spec of the outline. The status may be
	// older.
	stored atomic.Pointer[[]byte]
	// state is what the CRD shares with the one before an update of its status.
	state *state
}

func newResource(crd definitionObject, stored []byte, state *state) *resource {
	res := &resource{crd: crd, state: state}
	res.stored.Store(&stored)
	return res
}

// Outline returns the CRD without its schemas.
func (res *resource) Outline() definitionObject { return res.crd }

// Whole decodes the CRD with its schemas.
func (res *resource) Whole() (definitionObject, error) {
	crd, err := decodeCRD(*res.stored.Load())
	if err != nil {
		return nil, err
	}
	crd.Status = res.crd.Status
	return crd, nil
}

// Schemas returns the schemas of its versions, those that have one, as storage holds them.
func (res *resource) Schemas() (map[string][]byte, error) { return storedSchemas(*res.stored.Load()) }

// decodeOutline reads an outline out of what storage holds.
func decodeOutline(value []byte) (definitionObject, error) {
	crd, err := decodeAtOnce(outlined.edit(make([]byte, 0, 2048), value, leaveOut))
	if err == nil && crd.Spec.PreserveUnknownFields {
		return decodeCRD(value)
	}
	return crd, err
}

var (
	schemasOfVersions = parts{"spec": {"validation": {"openAPIV3Schema": nil}, "versions": {"schema": {"openAPIV3Schema": nil}}}}
	outlined          = parts{
		"metadata": {"managedFields": nil, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": nil}},
		"spec":     schemasOfVersions["spec"],
	}
)

func leaveOut([]byte) (replacement []byte, keep bool) { return nil, false }
