// Package wire has the encodings of objects on the wire and in storage, and operations on encoded objects. It
// is the lowest package of the server: it imports no other package of this module.
//
// # Formats
//
//   - Protobuf (protobuf.go, envelope.go): the wire format of protocol buffers
//     (https://protobuf.dev/programming-guides/encoding/), in the envelope "Kubernetes Protobuf encoding" of the
//     Kubernetes API concepts: the four bytes "k8s\x00", then a runtime.Unknown with apiVersion, kind and the
//     encoded object. Values in etcd and bodies on the wire only differ in metadata.resourceVersion, which is
//     empty in etcd (SetResourceVersion).
//   - JSON (json.go): the output of encoding/json with escaped HTML characters.
//   - CBOR (cbor.go): RFC 8949 with the self-described tag, see KEP-4222. Names of members are byte strings.
//   - Status (object.go): the response to a failed request or a deletion. It is the same in every API version.
//   - Row (row.go): a row of a meta.k8s.io Table as JSON, without its ages. These are inserted when it is sent,
//     so that the row can be cached with the object.
//   - DataFrame (frame.go): the size of HTTP/2 frames.
//
// # Contract
//
// Append functions append to dst, which may be nil, and return the extended slice; they do not retain it.
// Functions that read accept any bytes. They report malformed input with ok or an error, never with a panic,
// and allocate no memory for a size that the input only claims. Results share the memory of the input unless
// documented otherwise.
package wire
