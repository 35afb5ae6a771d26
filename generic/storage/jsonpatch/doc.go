// Package jsonpatch applies JSON patches (RFC 6902) and merge patches (RFC 7386) to the JSON of an object. Its
// time is linear in the size of patch and object, and a context limits it.
//
// The libraries decode and encode everything below each step of a path, and below each level of a merge. Their
// time is the product of levels and size. Apply and Merge use them for cheap patches, which includes nearly all
// patches of real clients. Other patches are applied to decoded values with the same result. Object keys are
// then sorted, and the wording of errors may differ.
//
// Read Apply first.
package jsonpatch
