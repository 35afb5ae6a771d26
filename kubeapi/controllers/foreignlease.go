package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/worker"
)

// foreignLease is the name of kube-controller-manager's Lease.
const foreignLease = "kube-controller-manager"

// runBesideForeign waits until no kube-controller-manager holds its lease, and then runs work until one acquires it, or
// ctx is done.
func (m *Manager) runBesideForeign(ctx context.Context, work func(context.Context)) {
	f := newForeign()
	ctx, cancel := context.WithCancel(ctx)
	var following worker.Group
	defer following.Wait()
	defer cancel()
	following.Go(func() { m.followForeign(ctx, f) })
	if !m.awaitFree(ctx, f) {
		return
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	following.Go(func() {
		select {
		case <-f.taken:
			stop()
		case <-working.Done():
		}
	})
	work(working)
}

// awaitFree returns true once the lease is known and has no holder; false if ctx is done before.
func (m *Manager) awaitFree(ctx context.Context, f *foreign) bool {
	logged := false
	for {
		changed, until, holder := f.state()
		wait := time.Until(until)
		if f.known() && wait <= 0 {
			f.release()
			return true
		}
		if f.known() && !logged {
			logged = true
			m.set(nil)
			klog.InfoS("Waiting for the lease of kube-controller-manager before starting controllers", "holder", holder)
		}
		if !f.await(ctx, changed, wait) {
			return false
		}
	}
}

// await returns when the lease has changed or has expired; false if ctx is done before.
func (f *foreign) await(ctx context.Context, changed <-chan struct{}, wait time.Duration) bool {
	var expired <-chan time.Time
	if f.known() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-changed:
	case <-expired:
	case <-ctx.Done():
		return false
	}
	return true
}

// foreign is the state of kube-controller-manager's lease.
type foreign struct {
	taken chan struct{} // closed when the lease is acquired after release

	mu      sync.Mutex
	changed chan struct{}
	read    bool
	free    bool // release was called
	until   time.Time
	holder  string
}

func newForeign() *foreign {
	return &foreign{taken: make(chan struct{}), changed: make(chan struct{})}
}

func (f *foreign) state() (changed <-chan struct{}, until time.Time, holder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed, f.until, f.holder
}

func (f *foreign) known() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read
}

// release makes the next acquisition close taken.
func (f *foreign) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = true
}

// set updates the state; l is nil if there is no lease. renewed is the time of the last renewal.
func (f *foreign) set(l *coordinationv1.Lease, renewed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read, f.until, f.holder = true, time.Time{}, ""
	if l != nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.LeaseDurationSeconds != nil {
		f.until = renewed.Add(time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second)
		f.holder = *l.Spec.HolderIdentity
	}
	if f.free && time.Now().Before(f.until) {
		select {
		case <-f.taken:
		default:
			klog.InfoS("Stopping controllers: kube-controller-manager acquired its lease", "holder", f.holder)
			close(f.taken)
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// followForeign watches the lease until ctx is done.
func (m *Manager) followForeign(ctx context.Context, f *foreign) {
	for ctx.Err() == nil {
		err := m.watchForeign(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, storage.ErrStopped) && !errors.Is(err, storage.ErrTooSlow) {
			klog.V(2).InfoS("Failed to watch the lease of kube-controller-manager", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (m *Manager) watchForeign(ctx context.Context, f *foreign) error {
	leases := m.config.Stores.Leases().Store()
	if leases == nil {
		f.set(nil, time.Time{})
		<-ctx.Done()
		return ctx.Err()
	}
	watch, err := leases.Cache().Watch(ctx, storage.WatchOptions{
		Prefix: leases.KeyPrefix(), Key: leases.KeyPrefix() + metav1.NamespaceSystem + "/" + foreignLease,
		Initial: true, Bookmarks: true,
	})
	if err != nil {
		return err
	}
	defer watch.Stop()
	initial := true
	for {
		events, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			switch e.Type {
			case storage.Bookmark:
				if initial && e.InitialEventsEnd && !f.known() {
					f.set(nil, time.Time{})
				}
				initial = initial && !e.InitialEventsEnd
			case storage.Deleted:
				f.set(nil, time.Time{})
			default:
				f.take(e.Record.Value, initial)
			}
		}
	}
}

// take decodes a lease. Because clocks may differ, an observed renewal counts from now. The renewal of a lease
// that was found (found) counts from its RenewTime.
func (f *foreign) take(value []byte, found bool) {
	l := &coordinationv1.Lease{}
	if err := wire.UnmarshalStored(value, l); err != nil {
		return
	}
	at := time.Now()
	if found && l.Spec.RenewTime != nil {
		at = l.Spec.RenewTime.Time
	}
	f.set(l, at)
}
