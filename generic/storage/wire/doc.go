// Package wire holds the byte formats in which objects travel and are stored,
// and what can be done to them without decoding an object. It is the lowest
// package of the server: it imports nothing of this module.
//
// # Formats
//
//   - Protobuf (protobuf.go, envelope.go): the wire encoding of protocol buffers
//     (https://protobuf.dev/programming-guides/encoding/), inside the envelope
//     that the Kubernetes API concepts describe under "Kubernetes Protobuf
//     encoding": the four bytes "k8s\x00", then a runtime.Unknown that names
//     apiVersion and kind and holds the object's message as raw bytes. Values in
//     etcd and bodies on the wire have the same form; they differ in
//     metadata.resourceVersion, which etcd holds empty (SetResourceVersion).
//   - JSON (json.go): as encoding/json writes it, HTML characters escaped.
//   - CBOR (cbor.go): RFC 8949 with the self-described tag, see KEP-4222; names
//     of members are byte strings.
//   - Status (object.go): the answer to a request that failed or deleted, the
//     same in every version of every group.
//   - Row (row.go): a row of a meta.k8s.io Table as JSON whose ages are filled in
//     when it is sent, so that it can be kept with the object.
//   - DataFrame (frame.go): the pieces in which HTTP/2 over TLS carries them.
//
// # Contract
//
// Append… functions append to dst, which may be nil, and return the extended
// slice; they do not keep it. Functions that read take any bytes: malformed
// input is reported by ok being false or by an error, never by a panic, and
// nothing is allocated by a size that the input only claims. What they return
// shares the input's memory unless the function says that it copies.
package wire
