package leaderelection

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"triplane.dev/internal/worker"
)

// Run acquires the Lease, runs work, and returns when it has returned. It returns without running it if ctx is done
// before. The context of work is done with ctx, or when the Lease is lost.
func Run(ctx context.Context, c Config, work func(context.Context)) {
	e := &elector{Config: c}
	if e.acquire(ctx) {
		e.lead(ctx, work)
	}
}

// elector takes part in an election. Only the goroutine of Run uses it.
type elector struct {
	Config

	// lease is the Lease as it was last read or written, nil if there was none; observed is when it was first seen.
	lease    *coordinationv1.Lease
	observed time.Time
	// renewed is the start of the last renewal that succeeded.
	renewed time.Time
}

// errHeld means that another process holds the Lease.
var errHeld = errors.New("the lease is held by another process")

// acquire returns true when this process holds the Lease, or false when ctx is done.
func (e *elector) acquire(ctx context.Context) bool {
	klog.V(2).InfoS("Waiting for a lease", "lease", e.Name, "identity", e.Identity)
	for ctx.Err() == nil {
		err := e.try(ctx)
		if err == nil {
			klog.V(2).InfoS("Acquired lease", "lease", e.Name, "identity", e.Identity)
			return true
		}
		if !errors.Is(err, errHeld) && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to acquire lease", "lease", e.Name)
		}
		pause(ctx, wait.Jitter(e.RetryPeriod, JitterFactor))
	}
	return false
}

// lead runs work, and renews the Lease until it has returned: a lost Lease as well, which another process must not
// acquire before. It stops the work if renewals fail for too long, or another process holds the Lease.
func (e *elector) lead(ctx context.Context, work func(context.Context)) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	running, ended := context.WithCancel(context.WithoutCancel(ctx))
	worker.Go(func() {
		defer ended()
		work(working)
	})
	expired := time.AfterFunc(time.Until(e.renewed.Add(e.patience())), func() {
		if working.Err() == nil {
			klog.InfoS("Stopping work because its lease could not be renewed", "lease", e.Name)
		}
		stop()
	})
	defer expired.Stop()
	for pause(running, e.interval()) {
		err := e.renew(running)
		switch {
		case err == nil:
			expired.Reset(time.Until(e.renewed.Add(e.patience())))
		case errors.Is(err, errHeld):
			klog.InfoS("Stopping work because another process holds its lease", "lease", e.Name,
				"holder", holder(e.lease))
			stop()
			<-running.Done()
		case running.Err() == nil:
			klog.ErrorS(err, "Failed to renew lease", "lease", e.Name)
		}
	}
	if e.ReleaseOnCancel {
		e.release(context.WithoutCancel(ctx))
	}
}

// renew tries for RenewDeadline.
func (e *elector) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.RenewDeadline)
	defer cancel()
	return e.try(ctx)
}

// try acquires or renews the Lease. It returns errHeld if another process holds it.
func (e *elector) try(ctx context.Context) error {
	if e.holds() && e.update(ctx, e.held()) == nil {
		return nil
	}
	// Another client may have changed the Lease.
	switch err := e.read(ctx); {
	case apierrors.IsNotFound(err):
		return e.create(ctx)
	case err != nil:
		return err
	case e.taken():
		return errHeld
	}
	return e.update(ctx, e.held())
}

// holds reports whether this process held the Lease when it was last seen.
func (e *elector) holds() bool { return e.lease != nil && holder(e.lease) == e.Identity }

// taken reports whether another process holds the Lease. Its clock may differ, so that the duration counts from when
// the Lease was first seen.
func (e *elector) taken() bool {
	if h := holder(e.lease); h == "" || h == e.Identity {
		return false
	}
	duration := time.Duration(ptr.Deref(e.lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return time.Since(e.observed) < duration
}

func holder(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

// read reads the Lease.
func (e *elector) read(ctx context.Context) error {
	l, err := e.Client.Get(ctx, e.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if e.lease == nil || !equality.Semantic.DeepEqual(e.lease.Spec, l.Spec) {
		e.observed = time.Now()
	}
	e.lease = l
	return nil
}

// create creates the Lease, held by this process.
func (e *elector) create(ctx context.Context) error {
	e.lease = nil
	spec := e.held()
	l, err := e.Client.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: e.Name}, Spec: spec},
		metav1.CreateOptions{})
	return e.written(l, &spec, err)
}

// update replaces the spec of the Lease, unless another client has changed the Lease since it was last seen.
func (e *elector) update(ctx context.Context, spec coordinationv1.LeaseSpec) error {
	l, err := e.Client.Update(ctx, &coordinationv1.Lease{ObjectMeta: e.lease.ObjectMeta, Spec: spec},
		metav1.UpdateOptions{})
	return e.written(l, &spec, err)
}

// written records a write that has succeeded.
func (e *elector) written(l *coordinationv1.Lease, spec *coordinationv1.LeaseSpec, err error) error {
	if err != nil {
		return err
	}
	e.lease, e.observed, e.renewed = l, time.Now(), spec.RenewTime.Time
	return nil
}

// held returns the spec of a Lease that this process acquires or renews now.
func (e *elector) held() coordinationv1.LeaseSpec {
	now := metav1.NewMicroTime(time.Now())
	spec := coordinationv1.LeaseSpec{HolderIdentity: &e.Identity, LeaseDurationSeconds: ptr.To(e.seconds()),
		AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To(int32(0))}
	switch {
	case e.holds():
		spec.AcquireTime, spec.LeaseTransitions = e.lease.Spec.AcquireTime, e.lease.Spec.LeaseTransitions
	case e.lease != nil:
		spec.LeaseTransitions = ptr.To(ptr.Deref(e.lease.Spec.LeaseTransitions, 0) + 1)
	}
	return spec
}

// release removes this process as the holder. It tries for RenewDeadline.
func (e *elector) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.RenewDeadline)
	defer cancel()
	for e.holds() {
		now := metav1.NewMicroTime(time.Now())
		err := e.update(ctx, coordinationv1.LeaseSpec{HolderIdentity: ptr.To(""), LeaseDurationSeconds: ptr.To(int32(1)),
			AcquireTime: &now, RenewTime: &now, LeaseTransitions: e.lease.Spec.LeaseTransitions})
		if apierrors.IsConflict(err) {
			// A renewal that was cancelled may have succeeded.
			err = e.read(ctx)
		}
		if err != nil {
			klog.ErrorS(err, "Failed to release lease", "lease", e.Name)
			return
		}
	}
}

// pause waits. It returns false if ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
