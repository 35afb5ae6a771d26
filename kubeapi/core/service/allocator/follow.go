package allocator

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// followAgain is how long after its end another watch of Services begins.
const followAgain = time.Second

// Follow allocates, until the context ends, the cluster IPs that Services have when they come or change and
// that no IPAddress holds: those of a restored backup, or of a server without IPAddresses. What Services do not
// show, as IPs that leaked, is left to Pass. It may run beside Keep.
func (r *Repair) Follow(ctx context.Context) {
	ctx = request.SkippingUnreadable(ctx)
	for ctx.Err() == nil {
		if err := r.followServices(ctx); err != nil && ctx.Err() == nil {
			klog.V(2).InfoS("Services are watched again for their cluster IPs", "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(followAgain):
		}
	}
}

// followServices follows what happens from now on, until the watch ends.
func (r *Repair) followServices(ctx context.Context) error {
	watchServices := r.stores.Services().Verbs().Watch
	if watchServices == nil {
		return errors.New("services cannot be watched")
	}
	present := false
	stream, err := watchServices(ctx, &metainternalversion.ListOptions{
		SendInitialEvents: &present, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for {
		events, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Type != watch.Added && e.Type != watch.Modified {
				continue
			}
			if err := r.repairNew(ctx, e); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "The cluster IPs of a Service could not be allocated")
			}
		}
	}
}

// repairNew takes the IPs of a Service that no IPAddress holds.
func (r *Repair) repairNew(ctx context.Context, e rest.Event) error {
	stored, ok := e.Object.(rest.Stored)
	if !ok {
		return nil
	}
	obj, err := stored.Decode()
	if err != nil {
		return err
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
		if _, err := r.stores.IPAddresses().Get(ctx, "", ip); apierrors.IsNotFound(err) {
			errs = append(errs, pass.repair(ctx, s, ip))
		}
	}
	record(r.recorders.IPs, pass.problems)
	return errors.Join(errs...)
}
