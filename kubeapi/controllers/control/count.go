package control

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/observed"
)

// Count returns the number of objects of a resource in a namespace in storage. It supports resources that this
// process stores. It decodes nothing, and does not load custom resources.
func (r *Resources) Count(ctx context.Context, gr schema.GroupResource, namespace string) (int64, error) {
	options, err := r.storages.GetRESTOptions(gr)
	if err != nil {
		return 0, err
	}
	result, err := options.Backend.Range(observed.Sweep(ctx),
		storage.RangeOptions{Prefix: r.KeyPrefix(gr) + namespace + "/", CountOnly: true})
	return result.Count, err
}
