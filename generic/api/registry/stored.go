package registry

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// stored is a record seen as an object of its kind.
type stored[T kind.Object] struct {
	store  *Store[T]
	record *storage.Record
	// once is set if forms that are encoded for the response are not kept.
	once bool
}

var _ rest.Stored = (*stored[kind.Object])(nil)

// GetObjectKind makes stored objects runtime.Objects; they do not name their
// kind.
func (o *stored[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself: it is immutable.
func (o *stored[T]) DeepCopyObject() runtime.Object { return o }

func (o *stored[T]) Decode() (runtime.Object, error) { return o.store.decode(o.record) }

func (o *stored[T]) ResourceVersion() string { return storage.FormatRevision(o.record.Revision) }

func (o *stored[T]) Wire(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	return o.wire(v, mt)
}

func (o *stored[T]) wire(version int, mt wire.MediaType) ([]byte, error) {
	return o.form(formID(version, mt), func(r *storage.Record) ([]byte, error) {
		return o.store.encode(nil, r, version, mt)
	})
}

// AppendWire implements rest.Stored.
func (o *stored[T]) AppendWire(dst []byte, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	kept := o.record.KeptForm(formID(v, mt))
	switch {
	case kept != nil:
	case o.once:
		return o.store.encode(dst, o.record, v, mt)
	default:
		if kept, err = o.wire(v, mt); err != nil {
			return nil, err
		}
	}
	return append(dst, kept...), nil
}

// form returns the record in a wire form.
func (o *stored[T]) form(id storage.FormID, encode func(*storage.Record) ([]byte, error)) ([]byte, error) {
	if !o.once {
		return o.record.Form(id, o.store.options.Budget, encode)
	}
	if b := o.record.KeptForm(id); b != nil {
		return b, nil
	}
	return encode(o.record)
}

// WireItem implements rest.Stored.
func (o *stored[T]) WireItem(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	if !o.store.kind.View().Typed() {
		return o.wire(v, mt)
	}
	obj, err := o.store.versioned(o.record, v)
	if err != nil {
		return nil, err
	}
	return codec.EncodeItem(o.store.codecs[v].Codec, obj, mt)
}

// keptForms implements rest.StoredList.
func (s *Store[T]) keptForms(dst [][]byte, items []rest.Stored, form rest.Form) [][]byte {
	v, err := s.version(form.Version)
	records := make([]*storage.Record, 0, 64) // on the stack
	for _, item := range items {
		o, ok := item.(*stored[T])
		if !ok || err != nil {
			return append(dst, make([][]byte, len(items))...)
		}
		records = append(records, o.record)
	}
	return storage.KeptForms(dst, records, s.formOf(v, form))
}

// stored wraps a record.
func (s *Store[T]) stored(r *storage.Record) *stored[T] { return &stored[T]{store: s, record: r} }

// encode appends the wire form of a record to dst, without a decoded object in between where it can. nil dst allocates.
func (s *Store[T]) encode(dst []byte, r *storage.Record, version int, mt wire.MediaType) ([]byte, error) {
	if r.Err != nil {
		return nil, s.readError(r.Err)
	}
	if b, ok, err := s.form.Transcode(dst, r, version, mt); ok || err != nil {
		return b, err
	}
	obj, err := s.versioned(r, version)
	if err != nil {
		return nil, err
	}
	return s.codecs[version].Codec.Encode(dst, obj, mt)
}

// versioned decodes a record and converts it to a served version.
func (s *Store[T]) versioned(r *storage.Record, version int) (runtime.Object, error) {
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	return s.codecs[version].Codec.FromHub(obj)
}

// decode returns a record's object in the hub version, with its resource
// version.
func (s *Store[T]) decode(r *storage.Record) (T, error) {
	if r.Err != nil {
		var none T
		return none, s.readError(r.Err)
	}
	return s.decodeValue(r.Key, r.Value(), r.Revision)
}

// decodeValue decodes what storage holds at a key.
func (s *Store[T]) decodeValue(key string, value []byte, revision int64) (T, error) {
	obj, err := s.form.DecodeStored(value)
	var undecodable *storage.DecodeError
	if errors.As(err, &undecodable) {
		return obj, s.unreadable(key, undecodable)
	}
	if err != nil {
		return obj, err
	}
	obj.SetResourceVersion(storage.FormatRevision(revision))
	return obj, nil
}

// encodeStored returns the value for storage of an object: without its resource version, which is that of the
// key and which the object keeps for the answer, and without a self link.
func (s *Store[T]) encodeStored(obj T) ([]byte, error) {
	version := obj.GetResourceVersion()
	if version != "" {
		obj.SetResourceVersion("")
	}
	if obj.GetSelfLink() != "" {
		obj.SetSelfLink("")
	}
	b, err := s.form.EncodeStored(obj)
	if version != "" {
		obj.SetResourceVersion(version)
	}
	return b, err
}

// sharedObjects is how many decoded objects a Store keeps for callers that only read them.
const sharedObjects = 128

// Shared implements rest.Stored.
func (o *stored[T]) Shared() (runtime.Object, error) {
	return o.store.shareDecoded(o.record, o.store.decodeRecent)
}

// decodeRecent decodes a record, unless it is among those that were decoded last.
func (s *Store[T]) decodeRecent(r *storage.Record) (T, error) {
	if obj, ok := s.shared.Get(r); ok {
		return obj.(T), nil
	}
	obj, err := s.decode(r)
	if err == nil {
		s.shared.Add(r, obj)
	}
	return obj, err
}

// formID numbers the wire form of a version in a media type.
func formID(version int, mt wire.MediaType) storage.FormID {
	return storage.FormID(version*4 + int(mt) + 1)
}

// formOf numbers a form. Rows of typed objects are those of all versions.
func (s *Store[T]) formOf(version int, form rest.Form) storage.FormID {
	switch {
	case !form.Row:
		return formID(version, form.MediaType)
	case s.kind.View().Typed():
		return rowForm
	}
	return rowForm + storage.FormID(version)
}

// rowForm is the form of a row of a table, of which there is one whatever the
// version, or one a version, with consecutive numbers.
const rowForm storage.FormID = 1 << 15

// version returns the place of a served version among the codecs.
func (s *Store[T]) version(gv schema.GroupVersion) (int, error) {
	for i := range s.codecs {
		if s.codecs[i].GV == gv {
			return i, nil
		}
	}
	return 0, fmt.Errorf("registry: %s is not served in %s", s.kind.Names.Plural, gv)
}
