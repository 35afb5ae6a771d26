package registry

import (
	"bytes"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
	"triplane/generic/storage"
	"triplane/generic/wire"
)

// stored is a record seen as an object of its kind.
type stored[T Object] struct {
	store  *Store[T]
	record *storage.Record
}

var (
	_ rest.Stored       = (*stored[Object])(nil)
	_ rest.ItemWriter   = (*stored[Object])(nil)
	_ rest.ItemAppender = (*stored[Object])(nil)
	_ rest.ItemTailer   = (*stored[Object])(nil)
)

// GetObjectKind makes stored objects runtime.Objects; they do not tell their
// kind.
func (o *stored[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself: it is immutable.
func (o *stored[T]) DeepCopyObject() runtime.Object { return o }

func (o *stored[T]) Decode() (runtime.Object, error) { return o.store.decode(o.record) }

func (o *stored[T]) ResourceVersion() string { return formatRevision(o.record.Revision) }

func (o *stored[T]) Wire(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	return o.wire(v, mt)
}

func (o *stored[T]) wire(version int, mt wire.MediaType) ([]byte, error) {
	s := o.store
	return o.record.Form(form(version, mt), s.options.Budget, func(r *storage.Record) ([]byte, error) {
		return s.encode(r, version, mt)
	})
}

// WireItem returns the form of list items.
func (o *stored[T]) WireItem(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	if !o.store.typed() {
		return o.wire(v, mt)
	}
	switch mt {
	case wire.JSON:
		tail, ok, err := o.WireItemTail(gv)
		if err != nil {
			return nil, err
		}
		if ok {
			return append(append(make([]byte, 0, 1+len(tail)), '{'), tail...), nil
		}
	case wire.Protobuf:
		b, err := o.wire(v, mt)
		if err != nil {
			return nil, err
		}
		return wire.ObjectOf(b)
	}
	return o.encodeItem(v, mt)
}

// WireItemTail returns the JSON of list items behind their opening brace.
func (o *stored[T]) WireItemTail(gv schema.GroupVersion) ([]byte, bool, error) {
	if !o.store.typed() {
		return nil, false, nil
	}
	v, err := o.store.version(gv)
	if err != nil {
		return nil, false, err
	}
	b, err := o.wire(v, wire.JSON)
	if err != nil {
		return nil, false, err
	}
	tail, ok := bytes.CutPrefix(b, o.store.codecs[v].typeMeta)
	return tail, ok, nil
}

// AppendItem appends the form of list items to dst.
func (o *stored[T]) AppendItem(dst []byte, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	if mt == wire.JSON {
		tail, ok, err := o.WireItemTail(gv)
		if err != nil {
			return dst, err
		}
		if ok {
			return append(append(dst, '{'), tail...), nil
		}
	}
	b, err := o.WireItem(gv, mt)
	return append(dst, b...), err
}

// encodeItem encodes without kind and apiVersion, for the media types in which
// they cannot be cut off.
func (o *stored[T]) encodeItem(version int, mt wire.MediaType) ([]byte, error) {
	obj, err := o.store.versioned(o.record, version)
	if err != nil {
		return nil, err
	}
	if c, ok := o.store.codecs[version].codec.(*typedCodec); ok {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return c.encode(nil, obj, mt)
	}
	return o.store.codecs[version].codec.Encode(nil, obj, mt)
}

// typed tells that items of lists leave out their kind.
func (s *Store[T]) typed() bool { return s.kind.CodecFor == nil }

// stored wraps a record.
func (s *Store[T]) stored(r *storage.Record) *stored[T] { return &stored[T]{s, r} }

// encode makes the wire form of a record, without a decoded object in between
// where it can.
func (s *Store[T]) encode(r *storage.Record, version int, mt wire.MediaType) ([]byte, error) {
	c := &s.codecs[version]
	if mt == wire.Protobuf && c.hub && s.kind.Storage == nil && !s.kind.DefaultOnRead {
		if b, ok := s.spliceProtobuf(r, c.codec.Kind()); ok {
			return b, nil
		}
	}
	if b, ok, err := s.transcode(r, version, mt); ok || err != nil {
		return b, err
	}
	obj, err := s.versioned(r, version)
	if err != nil {
		return nil, err
	}
	return c.codec.Encode(nil, obj, mt)
}

// transcode makes the wire form by the kind's own short way, if it has one for
// the record.
func (s *Store[T]) transcode(r *storage.Record, version int, mt wire.MediaType) ([]byte, bool, error) {
	t, ok := s.storage.(StorageTranscoder)
	if !ok {
		return nil, false, nil
	}
	return t.Transcode(r.Value, formatRevision(r.Revision), s.codecs[version].gv, mt)
}

// spliceProtobuf turns stored protobuf of the hub version into its wire form.
func (s *Store[T]) spliceProtobuf(r *storage.Record, hub schema.GroupVersionKind) ([]byte, bool) {
	if e, ok := wire.OpenEnvelope(r.Value); !ok || !e.Is(hub) {
		return nil, false
	}
	return wire.SetResourceVersion(r.Value, formatRevision(r.Revision))
}

// versioned decodes a record and converts it to a served version.
func (s *Store[T]) versioned(r *storage.Record, version int) (runtime.Object, error) {
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	return s.codecs[version].codec.FromHub(obj)
}

// decode returns a record's object in the hub version, with its resource
// version.
func (s *Store[T]) decode(r *storage.Record) (T, error) {
	return s.decodeValue(r.Value, r.Revision)
}

func (s *Store[T]) decodeValue(value []byte, revision int64) (T, error) {
	var none T
	decoded, err := s.storage.DecodeStored(value)
	if err != nil {
		return none, err
	}
	obj, ok := decoded.(T)
	if !ok {
		return none, errNotOfKind(decoded, s.kind.Hub)
	}
	obj.SetResourceVersion(formatRevision(revision))
	if s.kind.DefaultOnRead && s.kind.Default != nil {
		s.kind.Default(obj)
	}
	return obj, nil
}

// encodeStored returns the value for storage of an object. The object's
// resource version and self link are left out, and put back.
func (s *Store[T]) encodeStored(obj T) ([]byte, error) {
	version, link := obj.GetResourceVersion(), obj.GetSelfLink()
	if version != "" {
		obj.SetResourceVersion("")
	}
	if link != "" {
		obj.SetSelfLink("")
	}
	b, err := s.storage.EncodeStored(obj)
	if version != "" {
		obj.SetResourceVersion(version)
	}
	return b, err
}

// formatRevision is how the API tells a revision.
func formatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }
