package registry

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// graceful is what a grace period means for an object.
type graceful struct {
	// graceful is true where the object is to be marked with a time and a period.
	graceful bool
	// pending is true where it is marked already, and the request changes nothing.
	pending bool
	at      metav1.Time
	seconds int64
	// first is the first mark, which counts as a change of the object.
	first bool
}

// grace settles the grace period of a deletion.
func (d *deletion[T]) grace(ctx context.Context, obj T, opts *metav1.DeleteOptions) (graceful, error) {
	check := d.store.kind.Delete.CheckGraceful
	if opts.GracePeriodSeconds != nil && *opts.GracePeriodSeconds < 0 {
		one := int64(1)
		opts.GracePeriodSeconds = &one
	}
	if check == nil {
		return graceful{}, nil
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		return shorten(*at, obj.GetDeletionGracePeriodSeconds(), opts.GracePeriodSeconds), nil
	}
	if !check(ctx, obj, opts) {
		return graceful{}, nil
	}
	if opts.GracePeriodSeconds == nil {
		return graceful{}, apierrors.NewInternalError(errors.New("options.GracePeriodSeconds should not be nil"))
	}
	seconds := *opts.GracePeriodSeconds
	return graceful{graceful: true, first: true, seconds: seconds,
		at: metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second))}, nil
}

// shorten is what a further deletion means: the period can only become shorter.
// One that is over, or was never set, asks for the removal.
func shorten(at metav1.Time, held, wanted *int64) graceful {
	if held == nil || *held == 0 {
		return graceful{}
	}
	period := *held
	if period < 0 {
		period = 1
	}
	if wanted == nil || *wanted >= period {
		return graceful{pending: true}
	}
	moved := at.Add(time.Duration(*wanted-period) * time.Second)
	return graceful{graceful: true, seconds: *wanted, at: metav1.NewTime(moved)}
}

// apply marks an object.
func (g graceful) apply(obj metav1.Object) {
	obj.SetDeletionTimestamp(&g.at)
	obj.SetDeletionGracePeriodSeconds(&g.seconds)
	if g.first && obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}
