package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage"
)

// unreadDeletion is the annotation of the audit event of a deletion without a look at
// the object.
const unreadDeletion = "apiserver.k8s.io/unsafe-delete-ignore-read-error"

// removeUnread removes an unreadable object from storage, whatever its finalizers and grace period (KEP-3926). A
// readable object is a conflict.
func (d *deletion[T]) removeUnread(ctx context.Context) (runtime.Object, bool, error) {
	s := d.store
	for range maxWriteAttempts {
		revision, why, err := d.unreadRevision(ctx)
		if err != nil {
			return nil, false, err
		}
		if d.dryRun {
			return d.unreadRemoved(ctx), true, nil
		}
		_, err = s.options.Backend.Delete(ctx, d.key, revision)
		if errors.As(err, new(*storage.ConflictError)) || errors.As(err, new(*storage.TransformError)) {
			continue
		}
		if err != nil {
			return nil, false, writeError(err)
		}
		audit.RecordFrom(ctx).Annotate(unreadDeletion, "")
		klog.FromContext(ctx).Info("An object that cannot be read was deleted", "key", d.key, "revision", revision,
			"reason", why)
		return d.unreadRemoved(ctx), true, nil
	}
	return nil, false, errContended(s.requested(ctx))
}

// unreadRemoved is the response, which cannot have the object.
func (d *deletion[T]) unreadRemoved(ctx context.Context) *metav1.Status {
	r := d.store.requested(ctx)
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: d.name, Group: r.Group, Kind: r.Resource},
	}
}

// unreadRevision is the revision of the object, which must be unreadable at it, with the reason.
func (d *deletion[T]) unreadRevision(ctx context.Context) (revision int64, why, err error) {
	s := d.store
	kv, err := s.options.Backend.Get(ctx, d.key)
	var transform *storage.TransformError
	switch {
	case errors.As(err, &transform) && transform.Revision != 0:
		return transform.Revision, err, nil
	case errors.Is(err, storage.ErrNotFound):
		return 0, nil, s.notFound(ctx, d.name)
	case err != nil:
		return 0, nil, s.readError(err)
	}
	switch _, err := s.decodeValue(d.key, kv.Value, kv.Revision); {
	case apierrors.IsStoreReadError(err):
		return kv.Revision, err, nil
	case err != nil:
		return 0, nil, err
	}
	return 0, nil, s.storageConflict(ctx, d.name, d.key,
		"unsafe deletion is not allowed because the object is decodable from storage")
}
