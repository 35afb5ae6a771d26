package control

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/storage"
	"triplane/generic/storage/observed"
)

// Count returns how many objects of a resource a namespace has in storage. It is
// for resources that this process keeps: nothing is decoded, and what a custom
// resource needs to be served is not made for it.
func (r *Resources) Count(ctx context.Context, gr schema.GroupResource, namespace string) (int64, error) {
	options, err := r.storages.GetRESTOptions(gr)
	if err != nil {
		return 0, err
	}
	result, err := options.Backend.Range(observed.Sweep(ctx), storage.RangeOptions{Prefix: r.KeyPrefix(gr) + namespace + "/", CountOnly: true})
	return result.Count, err
}
