package registry

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// DeleteCollection serves deletecollection. The result is the list of
// the objects as they were. The first error ends it; what is deleted by then
// stays deleted. Objects that cannot be read are an error once all others are gone.
func (s *Store[T]) DeleteCollection(ctx context.Context, r rest.DeleteCollectionRequest) (runtime.Object, error) {
	found, err := s.list(ctx, pageOf(r.List))
	if err != nil {
		return nil, err
	}
	opts := r.Options
	if opts == nil {
		opts = metav1.NewDeleteOptions(0)
	}
	s.warnOfDeletion(ctx, opts)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var wg worker.Group
	var unread atomic.Pointer[error]
	work := make(chan *storage.Record)
	for range min(max(1, s.options.DeleteCollectionWorkers), len(found.Items)) {
		wg.Go(func() {
			for record := range work {
				err := worker.Try(func() error { return s.deleteRecord(ctx, record, r.Validate, opts) })
				switch {
				case apierrors.IsStoreReadError(err):
					unread.Store(&err)
				case err != nil:
					cancel(err)
				}
			}
		})
	}
feed:
	for _, item := range found.Items {
		if st, ok := item.(*stored[T]); ok {
			select {
			case work <- st.record:
			case <-ctx.Done():
				break feed
			}
		}
	}
	close(work)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := unread.Load(); err != nil {
		return nil, found.ReadError(*err)
	}
	return found, nil
}

// pageOf are the options of the list whose objects are deleted. It counts as a page: a version
// that says nothing else is meant exactly.
func pageOf(opts *metainternalversion.ListOptions) *metainternalversion.ListOptions {
	if opts == nil || opts.ResourceVersion == "" || opts.ResourceVersion == "0" || opts.ResourceVersionMatch != "" {
		return opts
	}
	page := opts.DeepCopy()
	page.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	return page
}

// deleteRecord deletes an object of a list; that it is gone is no error.
func (s *Store[T]) deleteRecord(ctx context.Context, r *storage.Record, validate rest.ValidateObjectFunc,
	opts *metav1.DeleteOptions) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fields, err := r.Fields(s.fields)
	if err != nil {
		return s.readError(err)
	}
	if s.kind.Namespaced {
		ctx = request.WithNamespace(ctx, fields.Get(storage.FieldNamespace))
	}
	_, _, err = s.Delete(ctx, rest.DeleteRequest{Name: fields.Get(storage.FieldName), Validate: validate,
		Options: opts.DeepCopy()})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
