package kubeapi

import (
	"bytes"
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewValueCheck returns a function that returns why a stored value cannot be decoded, nil if it can be. It does not
// check encrypted values; of values of unknown kinds it checks the form alone. It is safe for concurrent use.
func NewValueCheck() func(key string, value []byte) error {
	scheme := NewScheme()
	return func(_ string, value []byte) error {
		rest, is := bytes.CutPrefix(value, []byte("k8s\x00"))
		switch {
		case is:
			return checkProtobuf(scheme, rest)
		case len(value) == 0, bytes.HasPrefix(value, []byte("k8s:enc:")), value[0] != '{' || json.Valid(value):
			return nil
		}
		return errors.New("it is no JSON")
	}
}

func checkProtobuf(scheme *runtime.Scheme, value []byte) error {
	var held runtime.Unknown
	if err := held.Unmarshal(value); err != nil {
		return err
	}
	obj, err := scheme.New(schema.FromAPIVersionAndKind(held.APIVersion, held.Kind))
	if runtime.IsNotRegisteredError(err) {
		return checkFields(held.Raw)
	}
	if err != nil {
		return err
	}
	message, is := obj.(interface{ Unmarshal([]byte) error })
	if !is {
		return checkFields(held.Raw)
	}
	return message.Unmarshal(held.Raw)
}

// checkFields returns an error for what is no message.
func checkFields(b []byte) error {
	for len(b) > 0 {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
