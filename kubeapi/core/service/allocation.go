package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"triplane/kubeapi/core/service/allocator"
	"triplane/kubeapi/group"
)

// Allocation gets services their IPs and ports, and takes them back.
type Allocation struct {
	ips   *allocator.IPs
	ports *allocator.Ports
	// families that the cluster has, the default one first.
	families []corev1.IPFamily
	options  options
}

// NewAllocation returns what allocates from the ranges of d. IPs are objects of
// another group, which it finds in d.Stores when a Service is written.
func NewAllocation(d group.Deps) (*Allocation, error) {
	stored, err := d.RESTOptions.GetRESTOptions(allocator.PortAllocations)
	if err != nil {
		return nil, err
	}
	prefixes := Prefixes(d.ServiceCIDRs)
	a := &Allocation{
		ips:   allocator.NewIPs(d.Stores, prefixes, d.Allocation),
		ports: allocator.NewPorts(stored, d.NodePortRange, d.Allocation),

		options: options{namesOfOld: !d.Gate("RelaxedServiceNameValidation"), preferCloseOnly: !d.Gate("PreferSameTrafficDistribution")},
	}
	for _, p := range prefixes {
		a.families = append(a.families, familyOf(p.Addr().String()))
	}
	return a, nil
}

// Prefixes are ranges of cluster IPs as prefixes.
func Prefixes(ranges []*net.IPNet) []netip.Prefix {
	var out []netip.Prefix
	for _, n := range ranges {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// taken is what a write got for a service and gives back if it fails.
type taken struct {
	a     *Allocation
	s     service
	ips   []string
	ports []int32
}

func (t *taken) giveBack(ctx context.Context) {
	t.a.release(ctx, t.s.Namespace, t.s.Name, t.ips, t.ports)
}

func (a *Allocation) release(ctx context.Context, namespace, name string, ips []string, ports []int32) {
	// What a client no longer waits for has to be given back all the same.
	ctx = context.WithoutCancel(ctx)
	for _, text := range ips {
		if ip, err := netip.ParseAddr(text); err == nil {
			if err := a.ips.Release(ctx, ip, namespace, name); err != nil {
				klog.ErrorS(err, "Releasing a cluster IP failed", "ip", text, "service", namespace+"/"+name)
			}
		}
	}
	if len(ports) == 0 {
		return
	}
	if _, err := a.ports.Change(ctx, nil, ports, false); err != nil {
		klog.ErrorS(err, "Releasing node ports failed", "ports", ports, "service", namespace+"/"+name)
	}
}

func (a *Allocation) afterDelete(ctx context.Context, s service) {
	a.release(ctx, s.Namespace, s.Name, realIPs(s), nodePorts(s))
}

func realIPs(s service) []string {
	if !needsClusterIP(s) || headless(s) {
		return nil
	}
	return s.Spec.ClusterIPs
}

func nodePorts(s service) []int32 {
	var out []int32
	if !mayHaveNodePorts(s) {
		return nil
	}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 && !slices.Contains(out, p.NodePort) {
			out = append(out, p.NodePort)
		}
	}
	if s.Spec.HealthCheckNodePort != 0 && !slices.Contains(out, s.Spec.HealthCheckNodePort) {
		out = append(out, s.Spec.HealthCheckNodePort)
	}
	return out
}

func (a *Allocation) beginCreate(ctx context.Context, s service, dryRun bool) (func(context.Context, bool), error) {
	if err := a.settleFamilies(s, nil); err != nil {
		return nil, err
	}
	if len(validate(a.options, s)) > 0 {
		// The caller finds the same errors; nothing is reserved for them.
		return nil, nil
	}
	t := &taken{a: a, s: s}
	if err := t.allocate(ctx, nil, dryRun); err != nil {
		return nil, err
	}
	return func(ctx context.Context, ok bool) {
		if !ok && !dryRun {
			t.giveBack(ctx)
		}
	}, nil
}

func (a *Allocation) beginUpdate(ctx context.Context, s, old service, dryRun bool) (func(context.Context, bool), error) {
	if err := a.settleFamilies(s, old); err != nil {
		return nil, err
	}
	if len(validateFixed(s, old)) > 0 || len(validate(a.options, s)) > 0 {
		return nil, nil
	}
	t := &taken{a: a, s: s}
	if err := t.allocate(ctx, old, dryRun); err != nil {
		return nil, err
	}
	if dryRun {
		return nil, nil
	}
	return func(ctx context.Context, ok bool) {
		if !ok {
			t.giveBack(ctx)
			return
		}
		a.release(ctx, old.Namespace, old.Name, without(realIPs(old), realIPs(s)), without(nodePorts(old), nodePorts(s)))
	}, nil
}

func without[V comparable](list, other []V) []V {
	return slices.DeleteFunc(slices.Clone(list), func(v V) bool { return slices.Contains(other, v) })
}

func (t *taken) allocate(ctx context.Context, old service, dryRun bool) error {
	var hadIPs []string
	var hadPorts []int32
	if old != nil {
		hadIPs, hadPorts = realIPs(old), nodePorts(old)
	}
	err := t.allocateIPs(ctx, hadIPs, dryRun)
	if err == nil {
		err = t.allocatePorts(ctx, hadPorts, dryRun)
	}
	if err != nil && !dryRun {
		t.giveBack(ctx)
	}
	return err
}

func (t *taken) invalid(errs ...*field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), t.s.Name, errs)
}

func (t *taken) allocateIPs(ctx context.Context, had []string, dryRun bool) error {
	s := t.s
	if !needsClusterIP(s) || headless(s) {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs")
	given := slices.Clone(s.Spec.ClusterIPs)
	for i, family := range s.Spec.IPFamilies {
		if i < len(given) {
			if slices.Contains(had, given[i]) {
				continue
			}
			ip, err := netip.ParseAddr(given[i])
			if err == nil {
				err = t.a.ips.Allocate(ctx, ip, s.Namespace, s.Name, dryRun)
			}
			if err != nil {
				return t.invalid(field.Invalid(path, given, fmt.Sprintf("failed to allocate IP %v: %v", given[i], err)))
			}
			t.keep(given[i], dryRun)
			continue
		}
		ip, err := t.a.ips.AllocateNext(ctx, family == corev1.IPv6Protocol, s.Namespace, s.Name, dryRun)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: %w", err))
		}
		t.keep(ip.String(), dryRun)
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, ip.String())
	}
	if len(s.Spec.ClusterIPs) > 0 {
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	}
	return nil
}

func (t *taken) keep(ip string, dryRun bool) {
	if !dryRun {
		t.ips = append(t.ips, ip)
	}
}

// portSlot is a place that wants a node port.
type portSlot struct {
	value    *int32
	path     *field.Path
	protocol corev1.Protocol
}

func (t *taken) slots(had []int32) []portSlot {
	s := t.s
	var slots []portSlot
	// One number serves several protocols of a service.
	shared := map[int32][]corev1.Protocol{}
	if mayHaveNodePorts(s) {
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			if p.NodePort == 0 && !needsNodePort(s) || p.NodePort != 0 && slices.Contains(had, p.NodePort) {
				continue
			}
			others := shared[p.NodePort]
			if p.NodePort != 0 {
				shared[p.NodePort] = append(others, p.Protocol)
				if len(others) > 0 && !slices.Contains(others, p.Protocol) {
					continue
				}
			}
			slots = append(slots, portSlot{&p.NodePort, field.NewPath("spec", "ports").Index(i).Child("nodePort"), p.Protocol})
		}
	}
	if needsHealthPort(s) && (s.Spec.HealthCheckNodePort == 0 || !slices.Contains(had, s.Spec.HealthCheckNodePort)) {
		slots = append(slots, portSlot{&s.Spec.HealthCheckNodePort, field.NewPath("spec", "healthCheckNodePort"), ""})
	}
	return slots
}

func (t *taken) allocatePorts(ctx context.Context, had []int32, dryRun bool) error {
	slots := t.slots(had)
	if len(slots) == 0 {
		return nil
	}
	ports := t.a.ports.Range()
	wanted := make([]int32, len(slots))
	for i, slot := range slots {
		wanted[i] = *slot.value
		if wanted[i] != 0 && !ports.Contains(int(wanted[i])) {
			return t.invalid(field.Invalid(slot.path, wanted[i], fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %s", ports.String())))
		}
	}
	got, err := t.a.ports.Change(ctx, wanted, nil, dryRun)
	var which *allocator.PortError
	if errors.As(err, &which) && errors.Is(err, allocator.ErrPortAllocated) {
		if slots[which.Index].value == &t.s.Spec.HealthCheckNodePort {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", wanted[which.Index], which))
		}
		return t.invalid(field.Invalid(slots[which.Index].path, wanted[which.Index], which.Error()))
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	for i, slot := range slots {
		*slot.value = got[i]
	}
	if !dryRun {
		t.ports = got
	}
	return nil
}
