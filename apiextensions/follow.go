package apiextensions

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/apiextensions/controllers"
	"triplane.dev/apiextensions/customresourcedefinition"
	"triplane.dev/generic/storage"
)

// follower keeps the catalogue as storage is, from one watch, and lets the
// controller settle what follows from each batch of changes. Its fields belong
// to the goroutine of run.
type follower struct {
	catalogue  *catalogue
	controller *controllers.Controller
	settled    *customresourcedefinition.Settled
	// watch starts a watch of all CRDs, the present ones first.
	watch func(ctx context.Context) (storage.Watch, error)
	// prefix is that of the keys of CRDs, behind which they have their names.
	prefix string
	// synced is called once, when all CRDs that existed at the start and can be read
	// are in the catalogue, and whole once when there is none that cannot be read.
	synced, whole func()

	begun bool // synced was called
	// unread are the names of the CRDs that cannot be read.
	unread map[string]struct{}
}

// retryDelay is waited after a watch that failed at once.
const retryDelay = 100 * time.Millisecond

// run works until the context ends.
func (f *follower) run(ctx context.Context) { keepFollowing(ctx, f.follow) }

// keepFollowing calls follow, which returns when its watch ends, until the context ends.
func keepFollowing(ctx context.Context, follow func(context.Context) error) {
	for ctx.Err() == nil {
		began := time.Now()
		err := follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, storage.ErrStopped) && !errors.Is(err, storage.ErrTooSlow) {
			klog.FromContext(ctx).Error(err, "Watching the custom resource definitions failed, starting anew")
		}
		if time.Since(began) < retryDelay {
			select {
			case <-ctx.Done():
			case <-time.After(retryDelay):
			}
		}
	}
}

// follow takes the changes of one watch.
func (f *follower) follow(ctx context.Context) error {
	w, err := f.watch(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	initial := map[string]bool{} // nil once the present CRDs were shown
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		seen, buffer := int64(0), []byte(nil)
		for i := range events {
			e := &events[i]
			seen = max(seen, e.Revision)
			if e.Type != storage.Bookmark {
				if f.take(ctx, e, &buffer); initial != nil {
					initial[f.nameOf(e)] = true
				}
			} else if e.InitialEventsEnd {
				f.forgetOthers(initial)
				initial = nil
				f.begin()
			}
		}
		if f.begun { // before, the names of those not seen yet count, too
			f.controller.Reconcile(ctx)
			f.settled.Reach(seen)
			f.finish()
		}
	}
}

func (f *follower) begin() {
	if !f.begun {
		f.begun = true
		f.synced()
	}
}

// finish reports once that all CRDs could be read.
func (f *follower) finish() {
	if f.whole != nil && len(f.unread) == 0 {
		f.whole()
		f.whole = nil
	}
}

func (f *follower) nameOf(e *storage.Event) string { return strings.TrimPrefix(e.Record.Key, f.prefix) }

// forgetOthers removes what a new watch no longer shows.
func (f *follower) forgetOthers(present map[string]bool) {
	if present == nil {
		return
	}
	for crd := range f.catalogue.All() {
		if !present[crd.Name] {
			f.catalogue.Remove(crd.Name)
		}
	}
	maps.DeleteFunc(f.unread, func(name string, _ struct{}) bool { return !present[name] })
}

// take enters an event. A CRD that cannot be read stays as it is known, if it is. buffer is as for Record.ValueIn.
func (f *follower) take(ctx context.Context, e *storage.Event, buffer *[]byte) {
	name := f.nameOf(e)
	delete(f.unread, name)
	if e.Type == storage.Deleted {
		f.catalogue.Remove(name)
		return
	}
	crd, err := customresourcedefinition.DecodeOutline(e.Record.ValueIn(buffer))
	if err != nil {
		klog.FromContext(ctx).Error(err, "A stored custom resource definition cannot be read", "key", e.Record.Key)
		if f.unread == nil {
			f.unread = map[string]struct{}{}
		}
		f.unread[name] = struct{}{}
		return
	}
	crd.ResourceVersion = strconv.FormatInt(e.Record.Revision, 10)
	// What the controller writes is known before its event.
	if known := f.catalogue.find(named(crd.Name)); known == nil || !newer(known.crd, crd) {
		f.catalogue.set(crd, e.Record)
	} else if known.crd.ResourceVersion == crd.ResourceVersion {
		known.generation.stored.Store(e.Record) // which the cache holds, too
	}
}

// newer reports whether a is not older than b, of the same object.
func newer(a, b definitionObject) bool {
	x, errX := strconv.ParseInt(a.ResourceVersion, 10, 64)
	y, errY := strconv.ParseInt(b.ResourceVersion, 10, 64)
	return errX == nil && errY == nil && a.UID == b.UID && x >= y
}
