package storage

import "sync/atomic"

// Record is one revision of one object: the bytes that etcd holds, and what has
// been derived from them so far. It is never changed otherwise, and is shared by
// the cache, all lists and all watchers.
type Record struct {
	Key      string
	Value    []byte
	Revision int64
	// Err, where set, is why there is no Value: a *TransformError. Only lists from
	// the backend have such records.
	Err error

	labels, fields atomic.Pointer[Set]
	forms          atomic.Pointer[form]
}

// FormID names one wire form of a resource's objects: a version, a media type
// and a shape. The registry's Store hands the numbers out.
type FormID uint16

// Labels returns the labels, reading them on first demand.
func (r *Record) Labels(read func(*Record) (Set, error)) (*Set, error) {
	return r.derived(&r.labels, read)
}

// Fields returns the fields that selectors may name, reading them on first demand.
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
