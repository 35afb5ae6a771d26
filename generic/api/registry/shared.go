package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// sharedObjects is how many decoded objects a Store keeps for callers that only read them.
const sharedObjects = 128

// Shared implements rest.Stored.
func (o *stored[T]) Shared() (runtime.Object, error) {
	recent := o.store.shared
	if obj, ok := recent.Get(o.record); ok {
		return obj.(T), nil
	}
	obj, err := o.store.decode(o.record)
	if err != nil {
		return nil, err
	}
	recent.Add(o.record, obj)
	return obj, nil
}
