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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/core/service/allocator"
	"triplane.dev/kubeapi/group"
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
	counted := allocator.NewMetrics(d.Metrics)
	a := &Allocation{
		ips:   allocator.NewIPs(d.Stores, prefixes, counted),
		ports: allocator.NewPorts(stored, d.NodePortRange, counted),

		options: options{
			namesOfOld: !d.Gate("RelaxedServiceNameValidation"), preferCloseOnly: !d.Gate("PreferSameTrafficDistribution"),
			addresses: d.Addresses(),
		},
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
		if ip, ok := check.ParseIP(text); ok {
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
	if !mayHaveNodePorts(s) {
		return nil
	}
	return allocator.NodePorts(s)
}

func (a *Allocation) begin(ctx context.Context, s, old service, dryRun bool) (func(context.Context, bool), error) {
	if err := a.settleFamilies(s, old); err != nil {
		return nil, err
	}
	if old != nil && len(validateFixed(s, old)) > 0 {
		return nil, nil // what the caller finds, too
	}
	t := &taken{a: a, s: s}
	if err := t.allocate(ctx, old, dryRun); err != nil {
		return nil, err
	}
	if dryRun {
		return nil, nil
	}
	return func(ctx context.Context, ok bool) {
		switch {
		case !ok:
			t.giveBack(ctx)
		case old != nil:
			a.release(ctx, old.Namespace, old.Name, without(realIPs(old), realIPs(s)),
				without(nodePorts(old), nodePorts(s)))
		}
	}, nil
}

func without[V comparable](list, other []V) []V {
	drop := sets.New(other...)
	return slices.DeleteFunc(slices.Clone(list), drop.Has)
}

func (t *taken) allocate(ctx context.Context, old service, dryRun bool) error {
	var hadIPs []string
	var hadPorts []int32
	if old != nil {
		hadIPs, hadPorts = realIPs(old), nodePorts(old)
	}
	err := t.allocateIPs(ctx, hadIPs, dryRun)
	if err == nil {
		err = t.allocatePorts(ctx, old, hadPorts, dryRun)
	}
	if err != nil && !dryRun {
		t.giveBack(ctx)
	}
	return err
}

func invalid(s service, errs ...*field.Error) error {
	return rest.Invalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), s.Name, errs)
}

func (t *taken) allocateIPs(ctx context.Context, had []string, dryRun bool) error {
	s := t.s
	if !needsClusterIP(s) || headless(s) || len(validateClusterIPs(t.a.options, s, field.NewPath("spec"))) > 0 {
		return nil
	}
	path := field.NewPath("spec", "clusterIPs")
	given := slices.Clone(s.Spec.ClusterIPs)
	for i, family := range s.Spec.IPFamilies {
		if i < len(given) {
			if slices.Contains(had, given[i]) {
				continue
			}
			ip, _ := check.ParseIP(given[i]) // was validated
			if err := t.a.ips.Allocate(ctx, ip, s.Namespace, s.Name, dryRun); err != nil {
				return invalid(t.s, field.Invalid(path, given, fmt.Sprintf("failed to allocate IP %v: %v", given[i], err)))
			}
			t.keep(given[i], dryRun)
			continue
		}
		ip, err := t.a.ips.AllocateNext(ctx, family == corev1.IPv6Protocol, s.Namespace, s.Name, dryRun)
		if apierrors.IsInvalid(err) { // no IP can be held for this Service: it has no name
			return invalid(t.s, field.Invalid(path, []string{""}, fmt.Sprintf("failed to allocate IP: %v", err)))
		}
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

// portSlot is a place that wants a node port, and the others that share it.
type portSlot struct {
	value   *int32
	path    *field.Path
	sharers []*int32
	wanted  int32
}

// slots returns what is to be allocated for a service; had are the node ports
// that it has already.
func (t *taken) slots(old service, had []int32) []portSlot {
	s, owned := t.s, sets.New(had...)
	var slots []portSlot
	if mayHaveNodePorts(s) {
		slots = portSlots(s, owned, old == nil)
	}
	if n := s.Spec.HealthCheckNodePort; needsHealthPort(s) && (n == 0 || !owned.Has(n)) {
		slots = append(slots, portSlot{value: &s.Spec.HealthCheckNodePort, path: field.NewPath("spec", "healthCheckNodePort"),
			wanted: n})
	}
	return slots
}

// portSlots are the slots of a service's ports but of those whose node port it owns. Ports share one over
// different protocols: in a new service those of the same number, in an old one those for which the client
// chose the same.
func portSlots(s service, owned sets.Set[int32], created bool) []portSlot {
	type group struct{ wanted, port int32 }
	type member struct {
		wanted   int32
		protocol corev1.Protocol
	}
	var (
		slots  []portSlot
		groups = map[group][]int{}  // places in slots
		joined = map[member]int{}   // how many slots of a group have a port of the protocol, which are its first ones
		chosen = chosenNodePorts(s) // by port
	)
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		wanted := p.NodePort
		if wanted == 0 && created {
			wanted = chosen[p.Port]
		}
		if wanted == 0 && !needsNodePort(s) || wanted != 0 && owned.Has(wanted) {
			continue
		}
		g, n := group{wanted: wanted}, 0
		switch m := (member{wanted, p.Protocol}); {
		case created:
			g.port = p.Port
		case wanted == 0:
			n = len(groups[g]) // a group for itself
		default:
			n = joined[m]
			joined[m]++
		}
		if n < len(groups[g]) {
			same := &slots[groups[g][n]]
			same.sharers = append(same.sharers, &p.NodePort)
			continue
		}
		groups[g] = append(groups[g], len(slots))
		slots = append(slots, portSlot{value: &p.NodePort, path: field.NewPath("spec", "ports").Index(i).Child("nodePort"),
			wanted: wanted})
	}
	return slots
}

// chosenNodePorts are the node ports that the client chose, by port, whatever the protocol. The first counts.
func chosenNodePorts(s service) map[int32]int32 {
	chosen := map[int32]int32{}
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.NodePort != 0 && chosen[p.Port] == 0 {
			chosen[p.Port] = p.NodePort
		}
	}
	return chosen
}

func (t *taken) allocatePorts(ctx context.Context, old service, had []int32, dryRun bool) error {
	slots := t.slots(old, had)
	if len(slots) == 0 {
		return nil
	}
	ports := t.a.ports.Range()
	wanted := make([]int32, len(slots))
	for i, slot := range slots {
		wanted[i] = slot.wanted
		if wanted[i] != 0 && !ports.Contains(int(wanted[i])) {
			if dryRun && len(validate(t.a.options, t.s)) > 0 {
				return nil // validation rejects the dry run
			}
			return invalid(t.s, field.Invalid(slot.path, wanted[i],
				fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %s", ports.String())))
		}
	}
	got, err := t.a.ports.Change(ctx, wanted, nil, dryRun)
	var which *allocator.PortError
	if errors.As(err, &which) && errors.Is(err, allocator.ErrPortAllocated) {
		if slots[which.Index].value == &t.s.Spec.HealthCheckNodePort {
			return apierrors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w",
				wanted[which.Index], which))
		}
		return invalid(t.s, field.Invalid(slots[which.Index].path, wanted[which.Index], which.Error()))
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	for i, slot := range slots {
		*slot.value = got[i]
		for _, shared := range slot.sharers {
			*shared = got[i]
		}
	}
	if !dryRun {
		t.ports = got
	}
	return nil
}
