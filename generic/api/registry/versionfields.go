package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// VersionFields are fields that selectors may name in one served version only. Where a
// conversion may rename and compute fields, their values are those of the object in that version.
type VersionFields struct {
	Version schema.GroupVersion
	// Names are the fields, as selectors name them.
	Names []string
	// Read returns the value of a field of an object in JSON of the version.
	Read func(object []byte, name string) (string, error)
	// OfKey, if set, returns the value of a field of the object of a key, in place of Read.
	OfKey func(key, name string) string
}

// SelectingBy returns a store of the same objects whose lists, watches and deletions of
// collections select by fields of a version.
func (s *Store[T]) SelectingBy(f VersionFields) *Store[T] {
	selecting := *s
	selecting.versionFields = &f
	return &selecting
}

// fieldReader reads the fields of a version for one list or watch. It is used by one
// goroutine.
type fieldReader[T kind.Object] struct {
	ctx   context.Context
	store *Store[T]
	// err is why an object could not be read. None is read after that: the list or watch has
	// failed, and each further conversion could take as long as the first.
	err error
}

// fieldReader returns what reads the fields of a selector, nil where they are those of the
// hub version.
func (s *Store[T]) fieldReader(ctx context.Context, selector fields.Selector) *fieldReader[T] {
	if s.versionFields == nil || selector == nil {
		return nil
	}
	for _, r := range selector.Requirements() {
		for _, name := range s.versionFields.Names {
			if r.Field == name {
				return &fieldReader[T]{ctx: ctx, store: s}
			}
		}
	}
	return nil
}

// ReadFields implements storage.FieldReader: the fields are those of the hub version, and those of the version, of the
// form that the record keeps for responses.
func (f *fieldReader[T]) ReadFields(r *storage.Record) (storage.Set, error) {
	if f.err == nil {
		f.err = f.ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	var set storage.Set
	set, f.err = f.fields(r)
	return set, f.err
}

func (f *fieldReader[T]) fields(r *storage.Record) (storage.Set, error) {
	s, v := f.store, f.store.versionFields
	hub, err := r.Fields(s.fields)
	if err != nil {
		return nil, err
	}
	read := func(name string) (string, error) { return v.OfKey(r.Key, name), nil }
	if v.OfKey == nil {
		object, err := s.stored(r).Wire(v.Version, wire.JSON)
		if err != nil {
			return nil, err
		}
		read = func(name string) (string, error) { return v.Read(object, name) }
	}
	set := append(make(storage.Set, 0, len(*hub)+len(v.Names)), *hub...)
	for _, name := range v.Names {
		value, err := read(name)
		if err != nil {
			return nil, err
		}
		set = append(set, storage.Pair{Key: name, Value: value})
	}
	return storage.NewSet(set), nil
}

// labels returns the labels of a record, of its bytes where that is possible.
func (s *Store[T]) labels(r *storage.Record) (storage.Set, error) {
	if set, ok := s.form.Labels(r.Value()); ok {
		return set, nil
	}
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	return storage.SetOf(obj.GetLabels()), nil
}

// fields returns what field selectors may name of a record, of its bytes where that is
// possible.
func (s *Store[T]) fields(r *storage.Record) (storage.Set, error) {
	if set, ok := s.form.Fields(r.Value()); ok {
		return set, nil
	}
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	return s.kind.FieldsOf(obj), nil
}
