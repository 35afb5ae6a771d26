package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

// Delete serves delete.
func (s *Store[T]) Delete(ctx context.Context, r rest.DeleteRequest) (runtime.Object, bool, error) {
	key, err := s.requestKey(ctx, r.Name)
	if err != nil {
		return nil, false, err
	}
	opts := r.Options
	if opts == nil {
		opts = metav1.NewDeleteOptions(0)
	}
	d := &deletion[T]{store: s, name: r.Name, key: key, validate: r.Validate, given: opts,
		grace: opts.GracePeriodSeconds, dryRun: isDryRun(opts.DryRun)}
	if ptr.Deref(opts.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return d.removeUnread(ctx)
	}
	s.warnOfDeletion(ctx, opts)
	from, err := s.peek(ctx, key)
	if err != nil {
		return nil, false, err
	}
	return s.retry(ctx, key, from, d.attempt)
}

func (s *Store[T]) warnOfDeletion(ctx context.Context, opts *metav1.DeleteOptions) {
	if s.kind.Delete.Warnings != nil {
		addWarnings(ctx, s.kind.Delete.Warnings(opts))
	}
}

// deletion is one request that deletes an object.
type deletion[T kind.Object] struct {
	store     *Store[T]
	name, key string
	validate  rest.ValidateObjectFunc
	given     *metav1.DeleteOptions
	grace     *int64 // of given, as the client sent it
	dryRun    bool
	// last is the state that this deletion has written itself: the object may be
	// gone from then on.
	last    T
	written bool
}

// attempt decides what the deletion means for a state, and does it.
func (d *deletion[T]) attempt(ctx context.Context, from state) (runtime.Object, bool, error) {
	s := d.store
	if !from.exists() {
		if d.written {
			return d.answer(ctx, d.last), true, nil
		}
		return nil, false, s.notFound(ctx, d.name)
	}
	obj, err := s.decodeValue(d.key, from.value, from.revision)
	if err != nil {
		return nil, false, err
	}
	opts := d.given.DeepCopy()
	opts.GracePeriodSeconds = d.grace
	if !d.written {
		if err := d.check(ctx, obj, opts); err != nil {
			return nil, false, err
		}
	}
	if s.kind.Delete.Mark != nil {
		if done, out, err := d.markOwn(ctx, obj, opts, from); done {
			return out, false, err
		}
	}
	g, err := s.kind.Delete.Grace(ctx, obj, opts)
	if err != nil {
		return nil, false, err
	}
	if g.Pending {
		if _, err := s.confirm(ctx, d.key, from); err != nil {
			return nil, false, err
		}
		return d.answer(ctx, obj), false, nil
	}
	if d.validate != nil && !d.written {
		d.given.GracePeriodSeconds = opts.GracePeriodSeconds
		if err := d.validate(ctx, obj); err != nil {
			return nil, false, err
		}
	}
	return d.carryOut(ctx, obj, opts, g, from)
}

// carryOut marks the object, or removes it where nothing holds it. The response to a removal has the object as it is
// stored.
func (d *deletion[T]) carryOut(ctx context.Context, obj T, opts *metav1.DeleteOptions, g kind.Graceful,
	from state) (runtime.Object, bool, error) {
	finalizers, changed := d.store.kind.Delete.Finalizers(obj, opts)
	if !changed {
		finalizers = obj.GetFinalizers()
	}
	held := len(finalizers) > 0
	if !g.Graceful && !held {
		return d.remove(ctx, obj, from)
	}
	obj.SetFinalizers(finalizers)
	if g.Graceful {
		g.Apply(obj)
	} else {
		kind.MarkDeleting(obj, time.Now())
	}
	now, out, err := d.write(ctx, obj, from)
	if err != nil {
		return nil, false, err
	}
	if held || g.Graceful && g.Seconds > 0 {
		return out, false, nil
	}
	if d.dryRun {
		return obj, true, nil
	}
	d.last, d.written = obj, true
	return d.remove(ctx, obj, now)
}

// check holds the options against the rules and the object.
func (d *deletion[T]) check(ctx context.Context, obj T, opts *metav1.DeleteOptions) error {
	if errs := validation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	s := d.store
	if s.kind.Delete.Protected != nil {
		if why := s.kind.Delete.Protected(obj); why != "" {
			return apierrors.NewForbidden(s.requested(ctx), d.name, errors.New(why))
		}
	}
	if p := opts.Preconditions; p != nil {
		uid, version := obj.GetUID(), obj.GetResourceVersion()
		if s.kind.Delete.Mark != nil {
			unmet := cmp.Or(s.kind.Delete.UnmetPrecondition, "Precondition failed")
			if p.UID != nil && *p.UID != uid {
				return apierrors.NewConflict(s.requested(ctx), d.name,
					fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", unmet, *p.UID, uid))
			}
			if p.ResourceVersion != nil && *p.ResourceVersion != version {
				return apierrors.NewConflict(s.requested(ctx), d.name,
					fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", unmet,
						*p.ResourceVersion, version))
			}
		}
		if err := kind.UnmetPrecondition(s.kind.Hub, obj, p); err != nil {
			return err
		}
	}
	return nil
}

// markOwn begins the deletion of kinds that declare Delete.Mark, and keeps objects that they hold. done is false if the
// deletion continues as for other kinds.
func (d *deletion[T]) markOwn(ctx context.Context, obj T, opts *metav1.DeleteOptions,
	from state) (done bool, out runtime.Object, err error) {
	s := d.store
	if obj.GetDeletionTimestamp() != nil {
		if s.kind.Delete.Hold == nil || !s.kind.Delete.Hold(obj) {
			return false, nil, nil
		}
		_, err := s.confirm(ctx, d.key, from)
		return true, obj, err
	}
	marked, ok := obj.DeepCopyObject().(T)
	if !ok || !s.kind.Delete.Mark(ctx, marked) {
		return false, nil, nil
	}
	if d.validate != nil {
		if err := d.validate(ctx, obj); err != nil {
			return true, nil, err
		}
	}
	if finalizers, changed := s.kind.Delete.Finalizers(marked, opts); changed && s.kind.Delete.MarkPropagates {
		marked.SetFinalizers(finalizers)
	}
	now := metav1.Now()
	marked.SetDeletionTimestamp(&now)
	_, out, err = d.write(ctx, marked, from)
	return true, out, err
}

// write stores the marked object, unless it is marked so already.
func (d *deletion[T]) write(ctx context.Context, obj T, from state) (state, runtime.Object, error) {
	s := d.store
	value, err := s.encodeStored(obj)
	if err != nil {
		return from, nil, err
	}
	if bytes.Equal(value, from.value) {
		from, err = s.confirm(ctx, d.key, from)
		return from, obj, err
	}
	if d.dryRun {
		return from, obj, nil
	}
	revision, err := s.options.Backend.Update(ctx, d.key, value, from.revision, s.ttl(obj))
	if err != nil {
		return from, nil, attemptError(err)
	}
	return state{value: value, revision: revision, fresh: true}, s.wrote(d.key, value, revision, obj), nil
}

// remove takes the object out of storage.
func (d *deletion[T]) remove(ctx context.Context, obj T, from state) (runtime.Object, bool, error) {
	s := d.store
	if d.dryRun {
		if _, err := s.confirm(ctx, d.key, from); err != nil {
			return nil, false, err
		}
		return d.answer(ctx, obj), true, nil
	}
	revision, err := s.options.Backend.Delete(ctx, d.key, from.revision)
	if err != nil {
		return nil, false, attemptError(err)
	}
	obj.SetResourceVersion(storage.FormatRevision(revision))
	if s.kind.Delete.After != nil {
		s.kind.Delete.After(ctx, obj)
	}
	answer := d.answer(ctx, obj)
	if _, whole := answer.(T); whole { // as from.value has it
		answer = s.wrote(d.key, from.value, revision, obj)
	}
	return answer, true, nil
}

// answer is what the client gets of an object that is, or soon will be, gone.
func (d *deletion[T]) answer(ctx context.Context, obj T) runtime.Object {
	version := d.store.kind.Hub.Version
	if i := request.InfoFrom(ctx); i != nil && i.IsResourceRequest {
		version = i.APIVersion
	}
	if d.store.kind.Delete.ReturnsObjectIn(version) {
		return obj
	}
	r := d.store.requested(ctx)
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: d.name, Group: r.Group, Kind: r.Resource, UID: obj.GetUID()},
	}
}
