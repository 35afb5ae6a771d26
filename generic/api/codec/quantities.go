package codec

import (
	"encoding/json"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/quantity"
)

// checkQuantities rejects quantities that would occupy the decoder, or a later comparison, without bound.
// Nearly all bodies hold no text that could be one, and cost a look at their bytes.
func (c *typed) checkQuantities(body []byte, mt wire.MediaType) error {
	if !c.hasQuantities() {
		return nil
	}
	switch mt {
	case wire.Protobuf:
		return c.checkProtobuf(body)
	case wire.CBOR: // whose texts may be in pieces
		var tree any
		if wire.UnmarshalCBOR(body, &tree) != nil || !quantity.InTree(tree) {
			return nil
		}
		asJSON, err := json.Marshal(tree)
		if err != nil {
			return err
		}
		body = asJSON
	}
	return quantity.Check(body, reflect.TypeOf(c.options.New()))
}

// checkProtobuf goes by the fields of the message: in its bytes, digits of a text may be followed by a tag that
// looks like another.
func (c *typed) checkProtobuf(body []byte) error {
	if !quantity.IsTooLong(body) {
		return nil
	}
	message, err := wire.ObjectOf(body)
	if err != nil {
		return nil // the decoder says what is wrong
	}
	return checkMessage(message, reflect.TypeOf(c.options.New()).Elem())
}

// errMessage is of what no encoder of Kubernetes writes, and a decoder might still read.
var errMessage = errors.New("proto: the message has fields of a wire type that is not in use")

// checkMessage refuses the quantities of a message of a Go type that are too long.
func checkMessage(message []byte, t reflect.Type) error {
	return eachField(message, func(f wire.Field) error {
		if t == quantityType {
			if quantity.IsTooLong(f.Payload) {
				return quantity.ErrTooLong
			}
			return nil
		}
		if of, ok := fieldOf(t, f.Number); ok && f.Payload != nil {
			return checkField(f.Payload, of)
		}
		return nil
	})
}

// eachField calls check with the fields of a message until it fails.
func eachField(message []byte, check func(wire.Field) error) error {
	for i := 0; i < len(message); {
		f, ok := wire.NextField(message, i)
		if !ok {
			return errMessage
		}
		if err := check(f); err != nil {
			return err
		}
		i = f.End
	}
	return nil
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// checkField is checkMessage for a field of the type, of which a list or map has one for each element.
func checkField(payload []byte, t reflect.Type) error {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return checkField(payload, t)
	case reflect.Struct:
		return checkMessage(payload, t)
	case reflect.Map:
		return checkEntry(payload, t.Elem())
	}
	return nil
}

// mapValue is the number of the value of an entry of a map.
const mapValue = 2

// checkEntry checks the values of an entry of a map; it may have several, of which decoders read each.
func checkEntry(entry []byte, value reflect.Type) error {
	return eachField(entry, func(f wire.Field) error {
		if f.Number == mapValue && f.Payload != nil {
			return checkField(f.Payload, value)
		}
		return nil
	})
}

// fieldOf finds the field of a Go struct that has a number in protobuf.
func fieldOf(t reflect.Type, number uint64) (reflect.Type, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); uint64(wire.FieldNumber(f)) == number {
			return f.Type, true
		}
	}
	return nil, false
}
