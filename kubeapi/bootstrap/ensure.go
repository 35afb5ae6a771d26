package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/group"
)

// writers is how many objects are written at once.
const writers = 16

// kindOf is a set of objects of one kind to be there.
type kindOf[T kind.Object] struct {
	group.Handle[T]
	objects []T
	// repair changes a present object so that it fits the wanted one, and reports
	// whether it had to.
	repair func(have, want T) bool
	// inherit completes a wanted object that is absent from those that are there; nil
	// does nothing.
	inherit func(want T, find func(name string) (T, bool))
	// fields are the managed fields of a new object.
	fields func(T) []metav1.ManagedFieldsEntry
	// found gets each of the objects as it is stored then, from several goroutines at once;
	// nil does nothing.
	found func(metav1.Object)
}

// asServer returns the context of the server's own writes.
func asServer(ctx context.Context) context.Context {
	return request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
}

// ensure creates missing objects and repairs others. One that is there and cannot be read
// is left to administrators.
func ensure[T kind.Object](ctx context.Context, k kindOf[T]) error {
	ctx = asServer(ctx)
	have, err := k.ListConsistent(request.SkippingUnreadable(ctx), "")
	if err != nil {
		return fmt.Errorf("list %s: %w", k.Resource(), err)
	}
	present := make(map[string]T, len(have))
	for _, o := range have {
		present[o.GetNamespace()+"/"+o.GetName()] = o
	}
	var work []func() error
	for _, want := range k.objects {
		old, ok := present[want.GetNamespace()+"/"+want.GetName()]
		switch {
		case !ok:
			if k.inherit != nil {
				k.inherit(want, func(name string) (T, bool) {
					o, ok := present[want.GetNamespace()+"/"+name]
					return o, ok
				})
			}
			work = append(work, func() error { return create(ctx, k, want) })
		case k.repair != nil && k.repair(old.DeepCopyObject().(T), want):
			work = append(work, func() error { return update(ctx, k, want) })
		default:
			k.note(old)
		}
	}
	return inParallel(work)
}

func create[T kind.Object](ctx context.Context, k kindOf[T], want T) error {
	create := k.Verbs().Create
	if create == nil {
		return fmt.Errorf("%s cannot be created", k.Resource())
	}
	if k.fields != nil {
		want.SetManagedFields(k.fields(want))
	}
	created, err := create(request.WithNamespace(ctx, want.GetNamespace()), rest.CreateRequest{Name: want.GetName(),
		Object: want})
	if apierrors.IsAlreadyExists(err) {
		k.noteStored(ctx, want)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", k.Resource(), want.GetName(), err)
	}
	k.note(created)
	return nil
}

// noteStored notes an object that another replica was faster to write, unless it cannot be read.
func (k kindOf[T]) noteStored(ctx context.Context, want T) {
	get := k.Verbs().Get
	if get == nil {
		return
	}
	if have, err := get(request.WithNamespace(ctx, want.GetNamespace()),
		rest.GetRequest{Name: want.GetName()}); err == nil {
		k.note(have)
	}
}

// note passes an object to the observer, if there is one.
func (k kindOf[T]) note(o runtime.Object) {
	if o, ok := o.(metav1.Object); ok && k.found != nil {
		k.found(o)
	}
}

func update[T kind.Object](ctx context.Context, k kindOf[T], want T) error {
	update := k.Verbs().Update
	if update == nil {
		return fmt.Errorf("%s cannot be updated", k.Resource())
	}
	repair := func(_ context.Context, old runtime.Object) (runtime.Object, error) {
		have, ok := old.DeepCopyObject().(T)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", old)
		}
		k.repair(have, want)
		return have, nil
	}
	updated, _, err := update(request.WithNamespace(ctx, want.GetNamespace()), rest.UpdateRequest{Name: want.GetName(),
		Change: repair})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("update %s %s: %w", k.Resource(), want.GetName(), err)
	}
	k.note(updated)
	return nil
}

// inParallel runs the work, a few at once, and returns the errors joined.
func inParallel(work []func() error) error {
	jobs := make(chan func() error, len(work))
	for _, w := range work {
		jobs <- w
	}
	close(jobs)
	var (
		wg   worker.Group
		mu   sync.Mutex
		errs []error
	)
	for range min(writers, len(work)) {
		wg.Go(func() {
			for w := range jobs {
				if err := worker.Try(w); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
