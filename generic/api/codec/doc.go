// Package codec converts objects of Go types between bytes and structs, in the media types of the API.
//
// New returns the rest.Codec of one kind in one version. JSON that names the expected kind is decoded directly, and
// faultless JSON by readJSON; other bodies are decoded by the serializers of apimachinery, which also report the errors
// of malformed ones.
//
// A body is rejected before it is decoded if decoding it, or working with the object later, would need unbounded time
// or memory: structures that are nested too deep, and quantities of too many digits.
package codec
