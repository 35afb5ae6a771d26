package control

import (
	"bytes"

	"triplane.dev/generic/storage/wire"
)

// Key is the key of an object in a controller's queue. The namespace of cluster-scoped objects is "".
type Key struct{ Namespace, Name string }

// KeyOf returns the key of an object of the feed.
func KeyOf(o *Object) Key { return Key{o.Namespace, o.Name} }

// Mentions reports whether an object's stored value contains a text. It is a cheap filter for objects that do not
// concern a controller.
func (o *Object) Mentions(text string) bool { return bytes.Contains(o.Value, []byte(text)) }

// Decode decodes an object of the feed whose kind has only one storage version.
func Decode[T interface{ Unmarshal([]byte) error }](o *Object, into T) (T, error) {
	return into, wire.UnmarshalStored(o.Value, into)
}
