package allocator

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/follow"
	"triplane.dev/kubeapi/group"
)

// Following is a runner that allocates the cluster IPs that Services have when they are created or change and
// that no IPAddress holds: those of a restored backup, or of a server without IPAddresses. What Services do not
// show, such as leaked IPs, is left to Pass. It may run beside Periodic.
type Following struct {
	*Repair
	following *follow.Follower // nil without Services
}

// Following returns the runner.
func (r *Repair) Following() *Following { return &Following{Repair: r} }

// Start implements worker.Runner.
func (f *Following) Start(ctx context.Context) {
	if store := group.StoreOf(group.Services(f.stores)); store != nil {
		f.following = follow.Start(ctx, store.Cache(), f)
	}
}

// Wait implements worker.Runner.
func (f *Following) Wait() {
	if f.following != nil {
		f.following.Wait()
	}
}

// Handle implements follow.Handler.
func (f *Following) Handle(ctx context.Context, all []storage.Event) {
	for i := range all {
		if all[i].Type == storage.Deleted {
			continue
		}
		if err := f.repairNew(ctx, all[i].Record); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to allocate the cluster IPs of a Service", "key", all[i].Record.Key)
		}
	}
}

// Listed implements follow.Handler.
func (f *Following) Listed(context.Context, int64, func(string) bool) {}

// repairNew takes the IPs of a Service that no IPAddress holds.
func (r *Repair) repairNew(ctx context.Context, stored *storage.Record) error {
	obj, err := group.StoreOf(group.Services(r.stores)).DecodeShared(stored)
	if err != nil {
		return nil // Pass reports it
	}
	s, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	pass := r.newPass(ctx)
	var errs []error
	for _, ip := range s.Spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			continue
		}
		if _, err := group.IPAddresses(r.stores).Get(ctx, "", ip); apierrors.IsNotFound(err) {
			errs = append(errs, pass.repair(ctx, s, ip))
		}
	}
	r.recorders.IPs.record(pass.problems)
	return errors.Join(errs...)
}
