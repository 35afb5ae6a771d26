package storage

import "sync/atomic"

// Record is one revision of one object: the stored bytes, and values that were derived from them. It is
// immutable otherwise. The cache, all lists and all watches share it.
type Record struct {
	Key      string
	Value    []byte
	Revision int64
	// Err, if set, is the *TransformError because of which there is no Value. Only lists from the backend have
	// such records.
	Err error

	labels, fields atomic.Pointer[Set]
	forms          atomic.Pointer[form]
}

// FormID identifies a wire form of a resource's objects: a version, a media type and a shape. The registry's
// Store assigns the numbers.
type FormID uint16

// Labels returns the labels. The first call reads them.
func (r *Record) Labels(read func(*Record) (Set, error)) (*Set, error) {
	return r.derived(&r.labels, read)
}

// Fields returns the fields for selectors. The first call reads them.
func (r *Record) Fields(read func(*Record) (Set, error)) (*Set, error) {
	return r.derived(&r.fields, read)
}

func (r *Record) derived(kept *atomic.Pointer[Set], read func(*Record) (Set, error)) (*Set, error) {
	if s := kept.Load(); s != nil {
		return s, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	s, err := read(r)
	if err != nil {
		return nil, err
	}
	kept.Store(&s)
	return &s, nil
}
