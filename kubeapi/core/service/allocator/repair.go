package allocator

import (
	"context"
	"errors"
	"math/big"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

const (
	// passesToFree is how many passes in a row must find a node port without a
	// Service before it is free again: a Service may be about to come.
	passesToFree = 3
	// graceForIP is how old an IP without a Service has to be for that.
	graceForIP = time.Minute
)

// Repair brings what is allocated in line with the Services that there are: it
// takes what they have, and frees what no Service has, as is left behind when a
// server dies between the two. What it finds, and what it cannot repair, it says in Events.
// Replicas may run it side by side. Pass is not safe for concurrent use.
type Repair struct {
	stores    *group.Stores
	ips       *IPs
	ports     *Ports
	recorders Recorders
	leaked    map[int]int // passes that found a port without a Service
}

// NewRepair makes a repair of cluster IPs and node ports.
func NewRepair(stores *group.Stores, ips *IPs, ports *Ports, recorders Recorders) *Repair {
	return &Repair{stores: stores, ips: ips, ports: ports, recorders: recorders, leaked: map[int]int{}}
}

// Pass compares once. Where a Service cannot be read, nothing is freed: it may be that
// Service's.
func (r *Repair) Pass(ctx context.Context) error {
	known, err := services(ctx, r.stores)
	all := !apierrors.IsStoreReadError(err)
	ctx = request.SkippingUnreadable(ctx)
	if !all {
		klog.ErrorS(err, "No cluster IPs and node ports are freed as long as there are Services that cannot be read")
		known, err = services(ctx, r.stores)
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

// repairPorts and repairIPs free what none of the Services has only if those are all.
func (r *Repair) repairPorts(ctx context.Context, services []*corev1.Service, all bool) error {
	for {
		kv, bits, err := r.ports.read(ctx)
		if err != nil {
			return err
		}
		used, problems := r.usedPorts(services, bits)
		want := new(big.Int).Or(used, bits)
		if all {
			want = r.merge(used, bits)
		}
		if kv == nil || want.Cmp(bits) != 0 {
			err = r.ports.write(ctx, kv, want)
		} else {
			r.ports.report(0, 0, bits)
		}
		var conflict *storage.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, storage.ErrExists) {
			continue
		}
		r.recorders.Ports.record(problems)
		return err
	}
}

// usedPorts are the node ports of Services, as bits, and what is wrong with them; allocated are
// those that no other Service is given.
func (r *Repair) usedPorts(services []*corev1.Service, allocated *big.Int) (used *big.Int, problems []problem) {
	used = new(big.Int)
	for _, s := range services {
		found := func(reason, note string, args ...any) {
			problems = append(problems, problem{s, reason, "PortAllocation", note, args})
		}
		for _, port := range NodePorts(s) {
			offset := int(port) - r.ports.ports.Base
			switch {
			case !r.ports.ports.Contains(int(port)):
				found("PortOutOfRange", "Port %d is not within the port range %s; please recreate service", port,
					r.ports.ports.String())
				continue
			case used.Bit(offset) == 1:
				found("PortAlreadyAllocated", "Port %d was assigned to multiple services; please recreate service", port)
			case allocated.Bit(offset) == 0:
				found("PortNotAllocated", "Port %d is not allocated; repairing", port)
			}
			used.SetBit(used, offset, 1)
		}
	}
	return used, problems
}

// NodePorts are the node ports of a Service, each once: protocols may share one.
func NodePorts(s *corev1.Service) []int32 {
	var ports []int32
	seen := sets.New[int32]()
	add := func(port int32) {
		if port != 0 && !seen.Has(port) {
			seen.Insert(port)
			ports = append(ports, port)
		}
	}
	for i := range s.Spec.Ports {
		add(s.Spec.Ports[i].NodePort)
	}
	add(s.Spec.HealthCheckNodePort)
	return ports
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
	held, err := group.IPAddresses(r.stores).ListConsistent(ctx, "")
	if err != nil {
		return err
	}
	r.ips.report(ctx, held)
	pass := r.newPass(ctx)
	for _, a := range held {
		pass.free[a.Name] = a
	}
	var errs []error
	for _, s := range services {
		for _, text := range s.Spec.ClusterIPs {
			if text != corev1.ClusterIPNone {
				errs = append(errs, pass.repair(ctx, s, text))
			}
		}
	}
	if all {
		errs = append(errs, pass.release(ctx))
	}
	r.recorders.IPs.record(pass.problems)
	return errors.Join(errs...)
}

// ipPass is one comparison of cluster IPs with IPAddresses.
type ipPass struct {
	*Repair
	free     map[string]*networkingv1.IPAddress // that no Service was found to have
	holders  map[string]*corev1.Service         // by IP, the first of them
	ranges   []netip.Prefix                     // that IPs may be of
	all      bool                               // ranges has all
	problems []problem
}

func (r *Repair) newPass(ctx context.Context) *ipPass {
	p := &ipPass{Repair: r, free: map[string]*networkingv1.IPAddress{}, holders: map[string]*corev1.Service{}}
	p.ranges, p.all = r.ips.allRanges(ctx)
	return p
}

func (p *ipPass) found(about runtime.Object, reason, action, note string, args ...any) {
	p.problems = append(p.problems, problem{about, reason, action, note, args})
}

// repair sees that a Service has one of its IPs.
func (p *ipPass) repair(ctx context.Context, s *corev1.Service, text string) error {
	const allocation = "ClusterIPAllocation"
	ip, ok := check.ParseIP(text)
	if !ok {
		p.found(s, "ClusterIPNotValid", "ClusterIPValidation", "Cluster IP %s is not a valid IP; please recreate Service",
			text)
		return nil
	}
	family := corev1.IPv4Protocol
	if ip.Is6() {
		family = corev1.IPv6Protocol
	}
	address := p.free[ip.String()]
	delete(p.free, ip.String())
	if p.all && !slices.ContainsFunc(p.ranges, func(r netip.Prefix) bool { return r.Contains(ip) }) {
		p.found(s, "ClusterIPOutOfRange", allocation,
			"Cluster IP [%v]: %s is not within any configured Service CIDR; please recreate service", family, ip)
		return nil
	}
	if p.holders[ip.String()] != nil {
		p.found(s, "ClusterIPAlreadyAllocated", allocation,
			"Cluster IP [%v]:%s was assigned to multiple services; please recreate service", family, ip)
		return nil
	}
	p.holders[ip.String()] = s
	switch {
	case address == nil:
		if !p.still(ctx, s) {
			return nil
		}
		p.found(s, "ClusterIPNotAllocated", allocation, "Cluster IP [%v]: %s is not allocated; repairing", family, ip)
		if err := p.ips.take(ctx, ip, s.Namespace, s.Name); !errors.Is(err, ErrAllocated) {
			return err
		}
		return nil
	case refersTo(address, s), time.Since(address.CreationTimestamp.Time) < graceForIP, !p.still(ctx, s):
		return nil // it has it, or another server is about to
	}
	p.found(s, "ClusterIPNotAllocated", allocation,
		"the ClusterIP [%v]: %s for Service %s/%s has a wrong reference; repairing", family, ip, s.Namespace, s.Name)
	return p.ips.move(ctx, address, ip, s.Namespace, s.Name)
}

// still reports whether a Service is there as it was when the pass began.
func (p *ipPass) still(ctx context.Context, s *corev1.Service) bool {
	now, err := group.Services(p.stores).GetConsistent(ctx, s.Namespace, s.Name)
	return err == nil && now.UID == s.UID && slices.Equal(now.Spec.ClusterIPs, s.Spec.ClusterIPs)
}

// refersTo reports whether an IP is a Service's.
func refersTo(a *networkingv1.IPAddress, s *corev1.Service) bool {
	ref := a.Spec.ParentRef
	return ref != nil && ref.Group == "" && ref.Resource == "services" && ref.Namespace == s.Namespace &&
		ref.Name == s.Name
}

// release gives back the IPs that no Service has, and had not for a while.
func (p *ipPass) release(ctx context.Context) error {
	var errs []error
	for _, a := range p.free {
		ref := a.Spec.ParentRef
		ip, err := netip.ParseAddr(a.Name)
		if err != nil || ref == nil || ref.Resource != "services" || time.Since(a.CreationTimestamp.Time) < graceForIP {
			continue
		}
		p.found(a, "IPAddressNotAllocated", "IPAddressAllocation",
			"IPAddress: %s for Service %s/%s appears to have leaked: cleaning up", a.Name, ref.Namespace, ref.Name)
		errs = append(errs, p.ips.Release(ctx, ip, ref.Namespace, ref.Name))
	}
	return errors.Join(errs...)
}

// Periodic repairs at intervals.
func (r *Repair) Periodic(interval time.Duration) worker.Runner {
	return worker.Every(interval, interval, func(ctx context.Context) {
		if err := r.Pass(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Repairing the allocation of cluster IPs and node ports failed")
		}
	})
}
