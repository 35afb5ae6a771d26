package allocator

import (
	"context"
	"errors"
	"math/big"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane/generic/request"
	"triplane/generic/storage"
	"triplane/kubeapi/group"
)

const (
	// passesToFree is how many passes in a row must find a node port without a
	// Service before it is free again: a Service may be about to come.
	passesToFree = 3
	// graceForIP is how old an IP without a Service has to be for that.
	graceForIP = time.Minute
)

// Repair brings what is allocated in line with the Services that there are: it
// takes what they have, and frees what nobody has, as is left behind when a
// server dies between the two. Replicas may run it side by side. It is not safe
// for concurrent use.
type Repair struct {
	stores *group.Stores
	ips    *IPs
	ports  *Ports
	leaked map[int]int // passes that found a port without a Service
}

// NewRepair makes a repair of cluster IPs and node ports.
func NewRepair(stores *group.Stores, ips *IPs, ports *Ports) *Repair {
	return &Repair{stores: stores, ips: ips, ports: ports, leaked: map[int]int{}}
}

// Pass compares once. Where a Service cannot be read, nothing is freed: it may be that
// Service's.
func (r *Repair) Pass(ctx context.Context) error {
	known, err := r.services(ctx)
	all := !apierrors.IsStoreReadError(err)
	ctx = request.SkippingUnreadable(ctx)
	if !all {
		klog.ErrorS(err, "No cluster IPs and node ports are freed as long as there are Services that cannot be read")
		known, err = r.services(ctx)
	}
	if err != nil {
		return err
	}
	failed := r.repairPorts(ctx, known, all)
	if failed != nil && ctx.Err() == nil {
		r.ports.count.RepairFailed()
	}
	return errors.Join(failed, r.repairIPs(ctx, known, all))
}

func (r *Repair) services(ctx context.Context) ([]*corev1.Service, error) {
	return group.List[*corev1.Service](ctx, r.stores, schema.GroupResource{Resource: "services"}, "", &metainternalversion.ListOptions{})
}

// repairPorts and repairIPs free what none of the Services has only if those are all.
func (r *Repair) repairPorts(ctx context.Context, services []*corev1.Service, all bool) error {
	used := new(big.Int)
	for _, s := range services {
		for i := range s.Spec.Ports {
			if port := int(s.Spec.Ports[i].NodePort); port != 0 && r.ports.ports.Contains(port) {
				used.SetBit(used, port-r.ports.ports.Base, 1)
			}
		}
		if port := int(s.Spec.HealthCheckNodePort); port != 0 && r.ports.ports.Contains(port) {
			used.SetBit(used, port-r.ports.ports.Base, 1)
		}
	}
	for {
		kv, bits, err := r.ports.read(ctx)
		if err != nil {
			return err
		}
		want := new(big.Int).Or(used, bits)
		if all {
			want = r.merge(used, bits)
		}
		if kv != nil && want.Cmp(bits) == 0 {
			r.ports.report(0, 0, bits)
			return nil
		}
		err = r.ports.write(ctx, kv, want)
		var conflict *storage.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, storage.ErrExists) {
			continue
		}
		return err
	}
}

// merge is what is used, and what is allocated and was not found free often
// enough.
func (r *Repair) merge(used, allocated *big.Int) *big.Int {
	want := new(big.Int).Or(used, allocated)
	for offset := range want.BitLen() {
		switch {
		case used.Bit(offset) == 1 || allocated.Bit(offset) == 0:
			delete(r.leaked, offset)
		case r.leaked[offset]+1 >= passesToFree:
			want.SetBit(want, offset, 0)
			delete(r.leaked, offset)
		default:
			r.leaked[offset]++
		}
	}
	return want
}

func (r *Repair) repairIPs(ctx context.Context, services []*corev1.Service, all bool) error {
	held, err := group.List[*networkingv1.IPAddress](ctx, r.stores, ipAddresses, "", &metainternalversion.ListOptions{})
	if err != nil {
		return err
	}
	r.ips.report(ctx, held)
	free := make(map[string]*networkingv1.IPAddress, len(held))
	for _, a := range held {
		free[a.Name] = a
	}
	var errs []error
	for _, s := range services {
		for _, text := range s.Spec.ClusterIPs {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue // "None"
			}
			if _, ok := free[ip.String()]; ok {
				delete(free, ip.String())
				continue
			}
			if err := r.ips.take(ctx, ip, s.Namespace, s.Name); err != nil && !errors.Is(err, ErrAllocated) {
				errs = append(errs, err)
			}
		}
	}
	if !all {
		clear(free)
	}
	for _, a := range free {
		p := a.Spec.ParentRef
		if p == nil || p.Resource != "services" || time.Since(a.CreationTimestamp.Time) < graceForIP {
			continue
		}
		if ip, err := netip.ParseAddr(a.Name); err == nil {
			errs = append(errs, r.ips.Release(ctx, ip, p.Namespace, p.Name))
		}
	}
	return errors.Join(errs...)
}

// Keep repairs at intervals until the context ends.
func (r *Repair) Keep(ctx context.Context, interval time.Duration) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := r.Pass(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "Repairing the allocation of cluster IPs and node ports failed")
			}
		}
	}
}
