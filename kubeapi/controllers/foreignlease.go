package controllers

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/follow"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/kubeapi/group"
)

// foreignLease is the name of kube-controller-manager's Lease.
const foreignLease = "kube-controller-manager"

// runBesideForeign waits until no kube-controller-manager holds its lease, and then runs work until one acquires it, or
// ctx is done.
func (m *Manager) runBesideForeign(ctx context.Context, work func(context.Context)) {
	f := newForeign()
	ctx, cancel := context.WithCancel(ctx)
	if leases := group.StoreOf(group.Leases(m.config.Stores)); leases == nil {
		f.set(nil, time.Time{})
	} else {
		f.key = leases.KeyPrefix() + metav1.NamespaceSystem + "/" + foreignLease
		defer follow.StartKey(ctx, leases.Cache(), f.key, f).Wait()
	}
	defer cancel()
	if !m.awaitFree(ctx, f) {
		return
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	f.release(stop)
	work(working)
}

// awaitFree returns true once the lease is known and has no holder; false if ctx is done before.
func (m *Manager) awaitFree(ctx context.Context, f *foreign) bool {
	logged := false
	for {
		changed, until, holder := f.state()
		wait := time.Until(until)
		if f.known() && wait <= 0 {
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

// foreign is the state of kube-controller-manager's lease, and follows it.
type foreign struct {
	key string // of the lease

	mu      sync.Mutex
	changed chan struct{}
	read    bool   // whether there is a lease
	listed  bool   // Listed was called
	taken   func() // called when the lease is acquired; nil before release
	until   time.Time
	holder  string
}

func newForeign() *foreign { return &foreign{changed: make(chan struct{})} }

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

// release makes an acquisition of the lease call stop: the next one, or one since it was seen to be free.
func (f *foreign) release(stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = stop
	f.checkTaken()
}

// checkTaken calls taken if the lease has a holder. The caller holds f.mu.
func (f *foreign) checkTaken() {
	if f.taken != nil && time.Now().Before(f.until) {
		klog.InfoS("Stopping controllers: kube-controller-manager acquired its lease", "holder", f.holder)
		f.taken()
		f.taken = nil
	}
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
	f.checkTaken()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Handle implements follow.Handler.
func (f *foreign) Handle(_ context.Context, events []storage.Event) {
	for i := range events {
		if e := &events[i]; e.Type == storage.Deleted {
			f.set(nil, time.Time{})
		} else {
			f.take(e.Record.Value())
		}
	}
}

// Listed implements follow.Handler.
func (f *foreign) Listed(_ context.Context, _ int64, has func(key string) bool) {
	if !has(f.key) {
		f.set(nil, time.Time{})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = true
}

// take decodes a lease. Because clocks may differ, an observed renewal counts from now. The renewal of a lease
// that was found at the start counts from its RenewTime.
func (f *foreign) take(value []byte) {
	l := &coordinationv1.Lease{}
	if err := wire.UnmarshalStored(value, l); err != nil {
		return
	}
	at := time.Now()
	f.mu.Lock()
	found := !f.listed
	f.mu.Unlock()
	if found && l.Spec.RenewTime != nil {
		at = l.Spec.RenewTime.Time
	}
	f.set(l, at)
}
