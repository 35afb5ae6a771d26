package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// writeResult is the answer to a write: the record that is now stored, and the
// object it was made of, so that its wire forms need no decoding. The cache takes
// over the record, and with it the bytes that the writer was answered with.
type writeResult[T kind.Object] struct {
	stored[T]
	obj T
}

var _ rest.Stored = (*writeResult[kind.Object])(nil)

// DeepCopyObject returns the object itself: it is immutable.
func (w *writeResult[T]) DeepCopyObject() runtime.Object { return w }

func (w *writeResult[T]) Decode() (runtime.Object, error) { return w.obj.DeepCopyObject(), nil }

func (w *writeResult[T]) Wire(gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	s := w.store
	v, err := s.version(gv)
	if err != nil {
		return nil, err
	}
	return w.record.Form(formID(v, mt), s.options.Budget, func(r *storage.Record) ([]byte, error) {
		c := &s.codecs[v]
		if b, ok, err := s.form.Transcode(nil, r, v, mt); ok || err != nil {
			return b, err
		}
		if s.form.FromStored() {
			return s.encode(nil, r, v, mt)
		}
		obj, err := c.Codec.FromHub(w.obj)
		if err != nil {
			return nil, err
		}
		return c.Codec.Encode(nil, obj, mt)
	})
}

// wrote hands the cache a value that has just been written, or deleted. The object gets
// its revision, and becomes what a reader of storage will see.
func (s *Store[T]) wrote(key string, value []byte, revision int64, obj T) *writeResult[T] {
	obj.SetResourceVersion(storage.FormatRevision(revision))
	s.form.AsStored(obj)
	r := storage.NewRecord(key, value, revision)
	s.cache.Expect(r)
	return &writeResult[T]{stored: stored[T]{store: s, record: r}, obj: obj}
}

// objectOf returns the object of an answer to a write, for whoever made it.
func (s *Store[T]) objectOf(answer runtime.Object) (T, error) {
	if w, ok := answer.(*writeResult[T]); ok {
		return w.obj, nil
	}
	obj, ok := answer.(T)
	if !ok {
		return obj, kind.NotOfKind(answer, s.kind.Hub)
	}
	return obj, nil
}
