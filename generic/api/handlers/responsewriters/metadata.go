package responsewriters

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/generic/storage/wire/protojson"
)

// storedMetadata responds with the metadata of a list whose items are bytes.
func (a *Response) storedMetadata(code int, list *rest.StoredList) error {
	return a.writeEnvelope(code, request.Transformation, func(ctx context.Context) (*envelope, error) {
		return a.metadataEnvelope(ctx, list, ownLimit)
	})
}

// metadataEnvelope puts a list around the metadata of items, which are collected until they are more than limit.
func (a *Response) metadataEnvelope(ctx context.Context, list *rest.StoredList, limit int) (*envelope, error) {
	mt := a.Output.MediaType
	if mt == wire.YAML {
		mt = wire.JSON
	}
	c := contents{kind: a.Output.Kind(), count: len(list.Items)}
	size := 0
	for b, err := range a.metadataOf(ctx, list.Items, mt) {
		if err != nil {
			return nil, err
		}
		c.items = append(c.items, slices.Clone(b))
		if size += len(b); size > limit {
			break
		}
	}
	request.Keeps(ctx, size)
	if rest := list.Items[len(c.items):]; len(rest) > 0 {
		c.more = a.metadataOf(ctx, rest, mt)
	}
	return c.envelope(storedMeta(list), mt)
}

// metadataOf encodes the metadata of items one by one. It is valid until the next one.
func (a *Response) metadataOf(ctx context.Context, items []rest.Stored, mt wire.MediaType) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m := metadataEncoder{scope: a.Scope, version: a.Output.Version, mt: mt}
		m.head = wire.TypeMetaPrefix(schema.FromAPIVersionAndKind(metav1.GroupName+"/"+m.version, "PartialObjectMetadata"))
		for i, item := range items {
			err := yieldAt(ctx, i)
			var b []byte
			if err == nil {
				b, err = m.encode(item)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// metadataEncoder encodes the metadata of objects as PartialObjectMetadata.
type metadataEncoder struct {
	scope       *Scope
	version     string // of meta.k8s.io
	mt          wire.MediaType
	head        []byte // of JSON
	object, out []byte // buffers
}

// encode returns the metadata of an item. It is read from the protobuf of kinds that have one.
func (m *metadataEncoder) encode(item rest.Stored) ([]byte, error) {
	if m.mt != wire.CBOR && m.scope.Codec.Supports(wire.Protobuf) {
		b, err := item.AppendWire(m.object[:0], m.scope.Kind.GroupVersion(), wire.Protobuf)
		if err != nil {
			return nil, err
		}
		m.object = b
		if m.read(b) {
			return m.out, nil
		}
	}
	obj, err := item.Decode()
	if err != nil {
		return nil, err
	}
	p, err := partialOf(obj, m.version)
	if err != nil {
		return nil, err
	}
	switch m.mt {
	case wire.Protobuf:
		return p.Marshal()
	case wire.CBOR:
		return wire.AppendCBORItem(nil, p)
	}
	return json.Marshal(p)
}

// metadataTable converts objects of all kinds: fields that PartialObjectMetadata does not have are skipped.
var metadataTable = sync.OnceValue(func() *protojson.Table {
	return protojson.NewTypes().Of(reflect.TypeFor[metav1.PartialObjectMetadata](), nil)
})

// read sets out to the metadata of an object in protobuf. It returns false if the object must be decoded.
func (m *metadataEncoder) read(object []byte) (ok bool) {
	e, ok := wire.OpenEnvelope(object)
	if !ok {
		return false
	}
	if m.mt == wire.JSON {
		m.out, ok = metadataTable().Append(m.out[:0], m.head, e.Object, "")
		return ok
	}
	f, ok := wire.OnlyField(e.Object, wire.ObjectMetadata)
	m.out = wire.AppendBytes(m.out[:0], wire.ObjectMetadata, f.Payload)
	return ok
}
