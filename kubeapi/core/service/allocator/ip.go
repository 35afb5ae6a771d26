package allocator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/group"
)

var (
	// ErrAllocated says that the IP or port is allocated already.
	ErrAllocated  = errors.New("provided IP is already allocated")
	errOutOfRange = errors.New("the provided network does not match the current range")
	// ErrFull says that there is nothing left.
	ErrFull = errors.New("range is full")
)

// IPs allocates cluster IPs. It is safe for concurrent use.
type IPs struct {
	stores *group.Stores
	ranges []netip.Prefix
	count  *Metrics
}

// NewIPs makes an allocator over the configured ranges; ServiceCIDR objects add
// theirs. m counts what is allocated, nil nothing.
func NewIPs(stores *group.Stores, ranges []netip.Prefix, m *Metrics) *IPs {
	return &IPs{stores: stores, ranges: ranges, count: m}
}

// Allocate takes an IP for a Service; with dryRun it only reports whether it could.
func (a *IPs) Allocate(ctx context.Context, ip netip.Addr, namespace, name string, dryRun bool) error {
	r, ok := a.rangeOf(ctx, ip)
	if !ok {
		return a.outOfRange(ip, dryRun)
	}
	start := time.Now()
	err := a.allocate(ctx, ip, namespace, name, dryRun)
	if !dryRun {
		a.count.IP(r.String(), false, time.Since(start), err)
	}
	return err
}

func (a *IPs) allocate(ctx context.Context, ip netip.Addr, namespace, name string, dryRun bool) error {
	if dryRun {
		_, err := group.IPAddresses(a.stores).GetConsistent(ctx, "", ip.String())
		if err == nil {
			return ErrAllocated
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return a.take(ctx, ip, namespace, name)
}

// outOfRange returns the error for an IP of no range. A dry run names the range, as
// kube-apiserver has it.
func (a *IPs) outOfRange(ip netip.Addr, dryRun bool) error {
	if dryRun {
		for _, r := range a.ranges {
			if r.Addr().Is4() == ip.Is4() {
				return fmt.Errorf("the provided IP (%v) is not in the valid range. The range of valid IPs is %v", ip, r)
			}
		}
	}
	return errOutOfRange
}

// AllocateNext takes any free IP of the family.
func (a *IPs) AllocateNext(ctx context.Context, v6 bool, namespace, name string, dryRun bool) (netip.Addr, error) {
	for _, r := range a.offered(ctx) {
		if r.Addr().Is6() != v6 {
			continue
		}
		start := time.Now()
		ip, err := a.nextIn(ctx, r, namespace, name, dryRun)
		if !dryRun {
			a.count.IP(r.String(), true, time.Since(start), err)
		}
		if !errors.Is(err, ErrFull) {
			return ip, err
		}
	}
	return netip.Addr{}, ErrFull
}

// randomTries is how often a random IP is tried before the range is walked.
const randomTries = 16

// nextIn prefers the upper part of the range: the lower one is for clients that
// choose their IP themselves.
func (a *IPs) nextIn(ctx context.Context, r netip.Prefix, namespace, name string, dryRun bool) (netip.Addr, error) {
	first, size := usable(r)
	reserved := reservedBand(size)
	try := func(offset uint64) (netip.Addr, bool, error) {
		ip := plus(first, offset)
		err := a.allocate(ctx, ip, namespace, name, dryRun)
		if errors.Is(err, ErrAllocated) {
			return ip, false, nil
		}
		return ip, err == nil, err
	}
	for range randomTries {
		if ip, ok, err := try(reserved + rand.Uint64N(size-reserved)); ok || err != nil {
			return ip, err
		}
	}
	start := rand.Uint64N(size)
	for i := range min(size, 1<<16) {
		if ip, ok, err := try((start + i) % size); ok || err != nil {
			return ip, err
		}
	}
	return netip.Addr{}, ErrFull
}

// Release gives an IP back; one that is gone, or belongs to another Service, is
// left alone.
func (a *IPs) Release(ctx context.Context, ip netip.Addr, namespace, name string) error {
	return a.ReleaseOlder(ctx, ip, namespace, name, 0)
}

// ReleaseOlder is Release for an IP that has been held for so long at least.
func (a *IPs) ReleaseOlder(ctx context.Context, ip netip.Addr, namespace, name string, age time.Duration) error {
	held, err := group.IPAddresses(a.stores).GetConsistent(ctx, "", ip.String())
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if p := held.Spec.ParentRef; p == nil || p.Resource != "services" || p.Namespace != namespace || p.Name != name ||
		age > 0 && time.Since(held.CreationTimestamp.Time) < age {
		return nil
	}
	if err = a.remove(ctx, held); apierrors.IsNotFound(err) {
		return nil
	}
	if r, ok := a.rangeOf(ctx, ip); ok && err == nil {
		a.count.IPReleased(r.String())
	}
	return err
}

func (a *IPs) remove(ctx context.Context, held *networkingv1.IPAddress) error {
	remove := group.IPAddresses(a.stores).Verbs().Delete
	if remove == nil {
		return fmt.Errorf("no storage for %s", group.IPAddresses(a.stores).Resource())
	}
	same := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &held.UID}}
	_, _, err := remove(request.WithNamespace(ctx, ""), rest.DeleteRequest{Name: held.Name, Options: same})
	return err
}

// move gives a Service an IP that is held for another one.
func (a *IPs) move(ctx context.Context, held *networkingv1.IPAddress, ip netip.Addr, namespace, name string) error {
	if err := a.remove(ctx, held); err != nil {
		return err
	}
	return a.take(ctx, ip, namespace, name)
}

func (a *IPs) take(ctx context.Context, ip netip.Addr, namespace, name string) error {
	create := group.IPAddresses(a.stores).Verbs().Create
	if create == nil {
		return fmt.Errorf("no storage for %s", group.IPAddresses(a.stores).Resource())
	}
	_, err := create(request.WithNamespace(ctx, ""),
		rest.CreateRequest{Name: ip.String(), Object: ipAddress(ip, namespace, name)})
	if apierrors.IsAlreadyExists(err) {
		return ErrAllocated
	}
	return err
}

// ipAddressFields are the fields that ipAddress sets, as managed fields name them.
const ipAddressFields = `{"f:metadata":{"f:labels":{".":{},"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}`

func ipAddress(ip netip.Addr, namespace, name string) *networkingv1.IPAddress {
	family := "IPv4"
	if ip.Is6() {
		family = "IPv6"
	}
	at := metav1.Now().Rfc3339Copy()
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip.String(),
			Labels: map[string]string{
				networkingv1.LabelIPAddressFamily: family, networkingv1.LabelManagedBy: "ipallocator.k8s.io",
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-apiserver", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "networking.k8s.io/v1",
				Time: &at, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(ipAddressFields)},
			}},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace,
			Name: name}},
	}
}

// rangeOf finds the range of an IP.
func (a *IPs) rangeOf(ctx context.Context, ip netip.Addr) (netip.Prefix, bool) {
	return rangeIn(a.offered(ctx), ip)
}

func rangeIn(ranges []netip.Prefix, ip netip.Addr) (netip.Prefix, bool) {
	if i := slices.IndexFunc(ranges, func(r netip.Prefix) bool { return contains(r, ip) }); i >= 0 {
		return ranges[i], true
	}
	return netip.Prefix{}, false
}

// report says how many of each range's IPs are taken.
func (a *IPs) report(ctx context.Context, held []*networkingv1.IPAddress) {
	offered, taken := a.offered(ctx), map[netip.Prefix]int{}
	for _, h := range held {
		if ip, err := netip.ParseAddr(h.Name); err == nil {
			r, _ := rangeIn(offered, ip)
			taken[r]++
		}
	}
	for _, r := range offered {
		_, size := usable(r)
		a.count.IPs(r.String(), taken[r], size)
	}
}

// defaultCIDR is the ServiceCIDR of the configured ranges, as they were when it was created.
const defaultCIDR = "kubernetes"

// offered are the ranges to allocate from, those of ServiceCIDRs; the configured ones are the
// default one's until that is there. The ranges of ServiceCIDRs that are about to go, or whose
// status says that they are not ready, are not offered unless another one has them.
func (a *IPs) offered(ctx context.Context) []netip.Prefix {
	list, err := group.ServiceCIDRs(a.stores).ListCached(request.SkippingUnreadable(ctx), "")
	if err != nil {
		return a.ranges
	}
	ranges := a.ranges
	if slices.ContainsFunc(list, func(c *networkingv1.ServiceCIDR) bool { return c.Name == defaultCIDR }) {
		ranges = nil
	}
	for _, c := range list {
		if c.DeletionTimestamp != nil || apimeta.IsStatusConditionFalse(c.Status.Conditions,
			networkingv1.ServiceCIDRConditionReady) {
			continue
		}
		for _, text := range c.Spec.CIDRs {
			if r, err := netip.ParsePrefix(text); err == nil && !slices.Contains(ranges, r) {
				ranges = append(slices.Clip(ranges), r)
			}
		}
	}
	return ranges
}

// allRanges are those of all ServiceCIDRs, also of those that offer none any more, and the configured ones. all is
// false where ServiceCIDRs cannot be listed.
func (a *IPs) allRanges(ctx context.Context) (ranges []netip.Prefix, all bool) {
	ranges = slices.Clone(a.ranges)
	list, err := group.ServiceCIDRs(a.stores).ListCached(request.SkippingUnreadable(ctx), "")
	for _, c := range list {
		for _, text := range c.Spec.CIDRs {
			if r, err := netip.ParsePrefix(text); err == nil {
				ranges = append(ranges, r)
			}
		}
	}
	return ranges, err == nil
}

func contains(r netip.Prefix, ip netip.Addr) bool {
	if !r.Contains(ip) || ip == r.Masked().Addr() {
		return false
	}
	first, size := usable(r)
	return ip.Is6() || !plus(first, size-1).Less(ip)
}

// usable is the first IP that may be given out, and how many there are: not the
// network itself, nor an IPv4 network's broadcast address.
func usable(r netip.Prefix) (first netip.Addr, size uint64) {
	bits := r.Addr().BitLen() - r.Bits()
	size = 1 << min(bits, 62)
	first = r.Masked().Addr().Next()
	if r.Addr().Is4() {
		return first, max(size, 3) - 2
	}
	return first, max(size, 2) - 1
}

func plus(ip netip.Addr, n uint64) netip.Addr {
	b := new(big.Int).SetBytes(ip.AsSlice())
	b.Add(b, new(big.Int).SetUint64(n))
	out, _ := netip.AddrFromSlice(b.FillBytes(make([]byte, ip.BitLen()/8)))
	return out
}

// reservedBand is the part of a range that is left to clients that choose.
func reservedBand(size uint64) uint64 {
	if size < 17 {
		return 0
	}
	return min(max(16, size/16), 256)
}
