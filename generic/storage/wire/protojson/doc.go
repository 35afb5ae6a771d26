// Package protojson converts objects in protobuf to JSON without decoding them into Go structs. This takes a
// third of the time of decoding and encoding, and allocates no garbage.
//
// The table of a message is built once from the tags of its Go type: the field numbers in protobuf, the names
// in JSON, and when JSON omits a field. Types with an own JSON encoding (json.Marshaler, such as Quantity) are
// decoded and encoded; frequent ones have a faster implementation (leaf.go).
//
// The result is byte for byte the output of encoding/json for the decoded struct. If that is not guaranteed,
// nothing is written, and the caller must decode and encode. This is so if the table cannot describe a field of
// a type, and for a message that is damaged, has a duplicate field, or has a map that is not sorted. Unknown
// fields are omitted.
package protojson
