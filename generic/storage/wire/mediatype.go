package wire

// MediaType is an encoding of objects.
type MediaType uint8

// Encodings.
const (
	JSON MediaType = iota
	YAML
	Protobuf
	CBOR
)
