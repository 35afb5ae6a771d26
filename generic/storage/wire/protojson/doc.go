// Package protojson writes Kubernetes objects that lie in protobuf as JSON, without Go
// structs in between: a third of the time of a decoder and an encoder, and no garbage.
//
// The table of a message is made once of the tags of its Go type: protobuf's number of a
// field, its name in JSON, and when JSON leaves it out. Types that write themselves
// (json.Marshaler, such as Quantity) are decoded and asked, the frequent ones in a short
// way of their own (leaf.go).
//
// The result is what encoding/json makes of the decoded struct, byte for byte. Where that
// is not certain nothing is written, and the caller decodes and encodes: a type with a
// field that the table cannot describe, a message whose map is not in order, that has a
// field twice, or that is damaged. What is not in the type is left out, as decoders do.
package protojson
