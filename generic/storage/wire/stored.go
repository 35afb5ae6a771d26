package wire

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// StoredForm is the encoding of objects of Go types in storage. All forms can be decoded.
type StoredForm uint8

// Forms. JSON and YAML end with a newline.
const (
	StoredProtobuf StoredForm = iota
	StoredJSON
	StoredYAML
)

// AppendStored encodes an object for storage. For JSON and YAML the object must have its kind set.
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

// UnmarshalStored decodes a stored value in any form. It ignores the version of the value.
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

// StoredText returns the JSON of a stored value that is JSON or YAML.
func StoredText(value []byte) ([]byte, error) {
	if bytes.HasPrefix(value, []byte("{")) || bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")) {
		return value, nil
	}
	return yaml.YAMLToJSON(value)
}
