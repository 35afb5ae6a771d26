package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Delete is what the deletion of an object means.
type Delete[T Object] struct {
	// CheckGraceful, where set, makes deletion graceful: it settles
	// opts.GracePeriodSeconds and reports whether the object has to linger.
	CheckGraceful func(ctx context.Context, obj T, opts *metav1.DeleteOptions) bool
	// GarbageCollection is what becomes of dependents unless the client says otherwise.
	GarbageCollection GarbageCollection
	// Protected, where set, returns why an object must not be deleted, "" if it may be.
	Protected func(T) string
	// ReturnsObject answers a finished deletion with the object instead of a Status (pods, services, namespaces...), in
	// all versions but those of StatusIn.
	ReturnsObject bool
	StatusIn      []string
	// Hold reports whether a marked object must stay although its metadata holds
	// no finalizers (namespaces with spec.finalizers).
	Hold func(T) bool
	// Mark, where set, begins the deletion of an object that is not marked yet: it changes the object (a Terminating
	// phase) and reports that the object is to be marked and kept, whatever its finalizers, until a later deletion or
	// update finds nothing that holds it. obj is a copy.
	Mark func(ctx context.Context, obj T) bool
	// UnmetPrecondition begins the message about preconditions that an object with Mark does not meet; "" is
	// "Precondition failed".
	UnmetPrecondition string
	// MarkPropagates adds the finalizers of the wanted propagation to a marked object.
	MarkPropagates bool
	// Warnings for the client of a deletion, of one object or of a collection, whatever comes of it.
	Warnings func(opts *metav1.DeleteOptions) []string
	// After is called when the object is gone from storage (not on dry run).
	After func(ctx context.Context, obj T)
}

// ReturnsObjectIn reports whether a finished deletion in a version is answered with the object.
func (d *Delete[T]) ReturnsObjectIn(version string) bool {
	return d.ReturnsObject && !slices.Contains(d.StatusIn, version)
}

// GarbageCollection is what happens to dependents when a client does not say.
type GarbageCollection string

// The policies.
const (
	DeleteDependents GarbageCollection = ""
	OrphanDependents GarbageCollection = "Orphan"
	// Unsupported makes propagation of no effect (events).
	Unsupported GarbageCollection = "Unsupported"
)

// Graceful is what a grace period means for an object.
type Graceful struct {
	// Graceful is true where the object is to be marked with a time and a period.
	Graceful bool
	// Pending is true where it is marked already, and the request changes nothing.
	Pending bool
	at      metav1.Time
	Seconds int64
	// first is the first mark, which counts as a change of the object.
	first bool
}

// Grace settles the grace period of a deletion.
func (d *Delete[T]) Grace(ctx context.Context, obj T, opts *metav1.DeleteOptions) (Graceful, error) {
	if opts.GracePeriodSeconds != nil && *opts.GracePeriodSeconds < 0 {
		one := int64(1)
		opts.GracePeriodSeconds = &one
	}
	if d.CheckGraceful == nil {
		return Graceful{}, nil
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		return shorten(*at, obj.GetDeletionGracePeriodSeconds(), opts.GracePeriodSeconds), nil
	}
	if !d.CheckGraceful(ctx, obj, opts) {
		return Graceful{}, nil
	}
	if opts.GracePeriodSeconds == nil {
		return Graceful{}, apierrors.NewInternalError(errors.New("options.GracePeriodSeconds should not be nil"))
	}
	seconds := *opts.GracePeriodSeconds
	return Graceful{Graceful: true, first: true, Seconds: seconds,
		at: metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second))}, nil
}

// shorten is what a further deletion means: the period can only become shorter.
// One that is over, or was never set, asks for the removal.
func shorten(at metav1.Time, held, wanted *int64) Graceful {
	if held == nil || *held == 0 {
		return Graceful{}
	}
	period := *held
	if period < 0 {
		period = 1
	}
	if wanted == nil || *wanted >= period {
		return Graceful{Pending: true}
	}
	moved := at.Add(time.Duration(*wanted-period) * time.Second)
	return Graceful{Graceful: true, Seconds: *wanted, at: metav1.NewTime(moved)}
}

// Apply marks an object.
func (g Graceful) Apply(obj metav1.Object) {
	obj.SetDeletionTimestamp(&g.at)
	obj.SetDeletionGracePeriodSeconds(&g.Seconds)
	if g.first && obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// MarkDeleting marks an object that finalizers hold: its grace is over.
func MarkDeleting(obj metav1.Object, now time.Time) {
	deleted := obj.GetDeletionTimestamp()
	if deleted == nil && obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	if deleted == nil || deleted.After(now) {
		at := metav1.NewTime(now)
		obj.SetDeletionTimestamp(&at)
	}
	zero := int64(0)
	obj.SetDeletionGracePeriodSeconds(&zero)
}

// Finalizers returns the finalizers that the garbage collector needs for
// the wanted propagation, and whether they differ from the present ones.
func (d *Delete[T]) Finalizers(obj metav1.Object, opts *metav1.DeleteOptions) ([]string, bool) {
	present := obj.GetFinalizers()
	orphan, foreground := d.propagation(present, opts)
	wanted := make([]string, 0, len(present)+1)
	for _, f := range present {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			wanted = append(wanted, f)
		}
	}
	if orphan {
		wanted = append(wanted, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		wanted = append(wanted, metav1.FinalizerDeleteDependents)
	}
	return wanted, !sameSet(present, wanted)
}

func sameSet(a, b []string) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			return false
		}
	}
	return true
}

// propagation is what happens to the dependents: what the client says, else what
// the finalizers say, else the kind's default.
func (d *Delete[T]) propagation(finalizers []string, opts *metav1.DeleteOptions) (orphan, foreground bool) {
	switch {
	case d.GarbageCollection == Unsupported:
		return false, false
	case opts.OrphanDependents != nil:
		return *opts.OrphanDependents, false
	case opts.PropagationPolicy != nil:
		return *opts.PropagationPolicy == metav1.DeletePropagationOrphan,
			*opts.PropagationPolicy == metav1.DeletePropagationForeground
	}
	for _, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return true, false
		case metav1.FinalizerDeleteDependents:
			return false, true
		}
	}
	return d.GarbageCollection == OrphanDependents, false
}

// UnmetPrecondition returns a conflict where obj, of the kind hub, is not the object, or not at the resource version,
// that the preconditions of a deletion name.
func UnmetPrecondition(hub schema.GroupVersionKind, obj metav1.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	kind := schema.GroupResource{Group: hub.Group, Resource: hub.Kind}
	if uid := obj.GetUID(); p.UID != nil && *p.UID != uid {
		return apierrors.NewConflict(kind, obj.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, uid))
	}
	if version := obj.GetResourceVersion(); p.ResourceVersion != nil && *p.ResourceVersion != version {
		return apierrors.NewConflict(kind, obj.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, version))
	}
	return nil
}
