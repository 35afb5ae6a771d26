// Package fieldgates drops the fields of built-in kinds that belong to features which
// are off.
//
// The markers of the Go types say which field belongs to which feature gate; markers.txt has them, which hack/openapi
// generates. The table adds what they do not say. A write of an object loses the fields of a feature that is off,
// unless the object that it replaces uses the feature already: so what was written while it was on is kept until it is
// removed.
//
// The table is compiled for each kind when one is first written, into the ways from the
// kind's type to the fields that are off. Where all are on, that is nothing.
package fieldgates
