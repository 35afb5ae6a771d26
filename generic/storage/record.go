package storage

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Attributes are what selectors look at.
type Attributes struct {
	Labels labels.Set
	Fields fields.Set // metadata.name, metadata.namespace and the kind's own
	// UIDHash is the ShardHash of the UID.
	UIDHash uint64
}

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

	attributes atomic.Pointer[Attributes]
	forms      atomic.Pointer[form]
}

// FormID names one wire form of a resource's objects: a version, a media type
// and a shape. The registry's Store hands the numbers out.
type FormID uint16

// Attributes returns what selectors look at, computing it on first demand.
func (r *Record) Attributes(compute func(*Record) (Attributes, error)) (Attributes, error) {
	if a := r.attributes.Load(); a != nil {
		return *a, nil
	}
	if r.Err != nil {
		return Attributes{}, r.Err
	}
	a, err := compute(r)
	if err != nil {
		return Attributes{}, err
	}
	r.attributes.Store(&a)
	return a, nil
}
