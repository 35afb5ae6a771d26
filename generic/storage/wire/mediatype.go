package wire

// MediaType is a serialization of objects.
type MediaType uint8

// The serializations.
const (
	JSON MediaType = iota
	YAML
	Protobuf
	CBOR
)
