package kind

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// partial reads the selectable fields of a kind out of a protobuf message without decoding the rest of it: what the
// fields are of is copied into a smaller message, which is decoded.
type partial[T Object] struct {
	kind *Kind[T]
	take *extract
	idle sync.Pool // of *reading[T]
}

// reading is what reading one object takes.
type reading[T Object] struct {
	obj     T
	message []byte
}

// newPartial fails where a selectable field reads what the Go type does not have.
func newPartial[T Object](k *Kind[T], types *Types) (*partial[T], error) {
	p := &partial[T]{kind: k}
	paths := []string{storage.FieldName, storage.FieldNamespace, storage.FieldUID}
	for _, f := range k.Select.Fields {
		if f.Reads == nil {
			paths = append(paths, f.Path)
		}
		paths = append(paths, f.Reads...)
	}
	var err error
	if p.take, err = types.extractOf(reflect.TypeFor[T]().Elem(), paths); err != nil {
		return nil, fmt.Errorf("registry: a selectable field of %s reads %w", k.Hub, err)
	}
	p.idle.New = func() any { return &reading[T]{obj: k.New()} }
	return p, nil
}

// Fields reads the message of an object that lacks no defaults.
func (p *partial[T]) fields(message []byte) (storage.Set, bool) {
	r := p.idle.Get().(*reading[T])
	defer p.idle.Put(r)
	u, ok := any(r.obj).(unmarshaler)
	if !ok {
		return nil, false
	}
	if r.message, ok = p.take.appendTo(r.message[:0], message); !ok {
		return nil, false
	}
	u.Reset()
	if u.Unmarshal(r.message) != nil {
		return nil, false
	}
	return p.kind.FieldsOf(r.obj), true
}

// extract is the part of a message that is taken out of it: the fields that have an
// entry, by number, whole where it is empty.
type extract struct{ fields []*extract }

// add takes the field of a path, which ends where its struct writes itself.
func (x *extract) add(t reflect.Type, path []string) bool {
	t = object.StructOf(t)
	if t == nil {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		number := wire.FieldNumber(f)
		if name != path[0] || number == 0 {
			continue
		}
		for number >= len(x.fields) {
			x.fields = append(x.fields, nil)
		}
		switch inner := x.fields[number]; {
		case len(path) == 1:
			x.fields[number] = &extract{}
		case inner == nil:
			x.fields[number] = &extract{}
			return x.fields[number].add(f.Type, path[1:])
		case inner.fields != nil:
			return inner.add(f.Type, path[1:])
		}
		return true
	}
	return false
}

// appendTo writes the part of a message. ok is false where the bytes are none.
func (x *extract) appendTo(dst, message []byte) (_ []byte, ok bool) {
	for i := 0; i < len(message); {
		f, ok := wire.NextField(message, i)
		if !ok {
			return dst, false
		}
		i = f.End
		switch {
		case f.Number >= uint64(len(x.fields)) || x.fields[f.Number] == nil:
		case x.fields[f.Number].fields == nil:
			dst = append(dst, message[f.Start:f.End]...)
		case f.Payload == nil:
			return dst, false
		default:
			dst = wire.OpenMessage(dst, f.Number)
			start := len(dst)
			if dst, ok = x.fields[f.Number].appendTo(dst, f.Payload); !ok {
				return dst, false
			}
			wire.CloseMessage(dst, start)
		}
	}
	return dst, true
}
