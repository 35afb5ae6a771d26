// Package jsonpatch applies JSON patches (RFC 6902) and merge patches (RFC 7386) to the JSON of an object, in a time
// that grows with the size of patch and object, and that a context ends.
//
// The library that does the work parses and writes what is below each step of a path, and below each level that a
// merge changes: its time is the product of the levels and of the size. Apply and Merge leave it what is cheap, which
// is nearly every patch of every client. All else is applied to decoded values, with the same result: objects have
// their keys in order, and errors are the library's up to their wording.
//
// Read Apply first.
package jsonpatch
