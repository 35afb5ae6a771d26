package wire

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// StoredForm is how objects of Go types lie in storage. All forms are read, whichever is
// written.
type StoredForm uint8

// The forms. JSON and YAML end with a newline.
const (
	StoredProtobuf StoredForm = iota
	StoredJSON
	StoredYAML
)

// AppendStored encodes an object as a kind in a form of storage. JSON and YAML take the kind
// from the object, which has to have it.
func AppendStored(dst []byte, kind schema.GroupVersionKind, obj runtime.Object, form StoredForm) ([]byte, error) {
	switch form {
	case StoredJSON:
		dst, err := AppendJSON(dst, obj)
		return append(dst, '\n'), err
	case StoredYAML:
		b, err := yaml.Marshal(obj)
		return append(dst, b...), err
	}
	return AppendProtobuf(dst, kind, obj)
}

// UnmarshalStored fills an object from a value that storage holds, in any form. The version
// that the value names is not looked at.
func UnmarshalStored(value []byte, into interface{ Unmarshal([]byte) error }) error {
	if !IsProtobuf(value) {
		text, err := StoredText(value)
		if err != nil {
			return err
		}
		return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
	}
	raw, err := ObjectOf(value)
	if err != nil {
		return err
	}
	return into.Unmarshal(raw)
}

// StoredText returns the JSON of a stored value that is JSON already or YAML.
func StoredText(value []byte) ([]byte, error) {
	if bytes.HasPrefix(value, []byte("{")) || bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		return value, nil
	}
	return yaml.YAMLToJSON(value)
}
