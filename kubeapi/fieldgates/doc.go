// Package fieldgates drops the fields of built-in kinds that belong to features which
// are off.
//
// The table says which field of which Go type belongs to which feature gate, as the
// documentation of the API does. A write of an object loses the fields of a feature that
// is off, unless the object that it replaces uses the feature already: so what was written
// while it was on is kept until it is removed.
//
// The table is compiled for each kind when one is first written, into the ways from the
// kind's type to the fields that are off. Where all are on, that is nothing.
package fieldgates
