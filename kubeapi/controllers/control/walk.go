package control

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
)

// walkPage is the page size of Walk.
const walkPage = 500

// Walk calls each with pages of the stored objects of a resource that this process stores, and stops at the first
// error. Pages may be of different revisions: concurrent writes may be missed.
func (r *Resources) Walk(ctx context.Context, gr schema.GroupResource, each func([]*Object) error) error {
	options, err := r.storages.GetRESTOptions(gr)
	if err != nil {
		return err
	}
	prefix := r.KeyPrefix(gr)
	opts := storage.RangeOptions{Prefix: prefix, Limit: walkPage}
	for {
		result, err := options.Backend.Range(ctx, opts)
		if err != nil || len(result.Items) == 0 {
			return err
		}
		objects := make([]*Object, len(result.Items))
		for i := range result.Items {
			kv := &result.Items[i]
			objects[i] = newObject(gr, kv.Key, kv.Key[len(prefix):], kv.Value, kv.Revision)
		}
		if err := each(objects); err != nil || !result.More {
			return err
		}
		opts.After = result.Items[len(result.Items)-1].Key
	}
}

// Revision returns a storage revision that includes every write to the resource acknowledged before the call. The
// resource must be stored by this process.
func (r *Resources) Revision(ctx context.Context, gr schema.GroupResource) (int64, error) {
	options, err := r.storages.GetRESTOptions(gr)
	if err != nil {
		return 0, err
	}
	return options.Backend.Revision(ctx)
}
