package rest

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// maxUnreadable is how many objects the error of a list names (KEP-3926).
const maxUnreadable = 100

// ReadError is the error of a list of which err was the error of one item: if that
// cannot be read from storage, all that cannot be are its causes. Other errors stay what
// they are.
func (l *StoredList) ReadError(err error) error {
	if !apierrors.IsStoreReadError(err) {
		return err
	}
	var all *apierrors.StatusError
	for _, item := range l.Items {
		_, err := item.Decode()
		var status *apierrors.StatusError
		if !apierrors.IsStoreReadError(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
			continue
		}
		if all == nil {
			all = status
			continue
		}
		details := all.ErrStatus.Details
		if len(details.Causes) >= maxUnreadable {
			details.Causes = append(details.Causes, metav1.StatusCause{
				Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated",
			})
			break
		}
		for _, c := range status.ErrStatus.Details.Causes {
			details.Causes = append(details.Causes, c)
			all.ErrStatus.Message += "; " + c.Field + ": " + c.Message
		}
	}
	if all == nil {
		return err
	}
	return all
}

// DropUnreadable leaves out the items that cannot be read from storage, and logs them.
func (l *StoredList) DropUnreadable(ctx context.Context) {
	l.Items = slices.DeleteFunc(l.Items, func(item Stored) bool { return Unreadable(ctx, item) })
}

// Unreadable reports, and logs, that an object cannot be read from storage.
func Unreadable(ctx context.Context, item Stored) bool {
	_, err := item.Decode()
	if !apierrors.IsStoreReadError(err) {
		return false
	}
	klog.FromContext(ctx).Error(err, "An object is left out, since it cannot be read")
	return true
}
