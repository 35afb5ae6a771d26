package bootstrap

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	utilnet "k8s.io/utils/net"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

const (
	masterLeaseTTL   = 15 * time.Second
	masterLeaseRenew = 10 * time.Second
)

// Endpoint keeps this replica among the endpoints of the Service "kubernetes".
// Each replica holds a key below masterleases that ends with it; the endpoints
// are those whose keys are there.
type Endpoint struct {
	stores  *group.Stores
	backend storage.Backend
	prefix  string // "/registry/masterleases/"
	ip      net.IP
	port    int
	lease   replicaLease
	// count, where not 0, is how many replicas there are: they add themselves to the
	// endpoints, without keys, and take out those that are too many.
	count int
}

// NewCountedEndpoint makes the keeper of an endpoint of as many replicas as count says,
// as --endpoint-reconciler-type=master-count asks for it.
func NewCountedEndpoint(stores *group.Stores, ip net.IP, port, count int) *Endpoint {
	return &Endpoint{stores: stores, ip: ip, port: port, count: count}
}

// NewEndpoint makes the keeper of an endpoint whose keys are in the storage that options
// describe.
func NewEndpoint(stores *group.Stores, options registry.RESTOptions, ip net.IP, port int) *Endpoint {
	const leases = "/masterleases/"
	e := &Endpoint{stores: stores, backend: options.Backend, prefix: options.Prefix + leases, ip: ip, port: port}
	e.lease = newReplicaLease(options, leases+ip.String(), corev1.Endpoints{
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: ip.String()}}}},
	})
	return e
}

// Renew prolongs the lease and brings the endpoints up to date.
func (e *Endpoint) Renew(ctx context.Context) error {
	if e.ip == nil {
		return errNoAddress
	}
	if e.count > 0 {
		return e.recount(ctx, e.counted)
	}
	if err := e.lease.renew(ctx, masterLeaseTTL); err != nil {
		return err
	}
	return e.reconcile(ctx)
}

// Keep renews until the context is done: at the given interval, and before the lease expires.
func (e *Endpoint) Keep(ctx context.Context, interval time.Duration) {
	every(ctx, min(interval, masterLeaseRenew), func() {
		if err := e.Renew(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Renewing the endpoint of the kubernetes service failed")
		}
	})
}

// Leave removes this replica from the endpoints.
func (e *Endpoint) Leave(ctx context.Context) error {
	if e.count > 0 {
		return e.recount(ctx, func(ips []string) []string {
			return slices.DeleteFunc(ips, func(ip string) bool { return ip == e.ip.String() })
		})
	}
	if err := e.lease.remove(ctx); err != nil {
		return err
	}
	return e.reconcile(ctx)
}

// reconcile writes the endpoints of all replicas that live.
func (e *Endpoint) reconcile(ctx context.Context) error {
	found, err := e.backend.Range(ctx, storage.RangeOptions{Prefix: e.prefix})
	if err != nil {
		return err
	}
	var ips []string
	for _, kv := range found.Items {
		// A server that is reached on its own machine alone is none for others.
		if ip := strings.TrimPrefix(kv.Key, e.prefix); len(check.EndpointIP(ip, nil)) == 0 {
			ips = append(ips, ip)
		}
	}
	sort.Strings(ips)
	return e.put(ctx, ips)
}

// recount changes the addresses that the endpoints have.
func (e *Endpoint) recount(ctx context.Context, change func(ips []string) []string) error {
	have, err := group.Endpoints(e.stores).GetConsistent(ctx, metav1.NamespaceDefault, "kubernetes")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var ips []string
	if err == nil && len(have.Subsets) == 1 {
		for _, a := range have.Subsets[0].Addresses {
			ips = append(ips, a.IP)
		}
	}
	return e.put(ctx, change(ips))
}

// counted are the addresses with this replica's: of too many, it and those that follow it in
// order, beginning again at the first.
func (e *Endpoint) counted(ips []string) []string {
	own := e.ip.String()
	ips = slices.Compact(slices.Sorted(slices.Values(append(ips, own))))
	if len(ips) <= e.count {
		return ips
	}
	at := slices.Index(ips, own)
	kept := slices.Concat(ips[at:], ips[:at])[:e.count]
	slices.Sort(kept)
	return kept
}

func (e *Endpoint) put(ctx context.Context, ips []string) error {
	return inParallel([]func() error{
		func() error { return e.putEndpoints(ctx, ips) },
		func() error { return e.putSlice(ctx, ips) },
	})
}

func (e *Endpoint) putEndpoints(ctx context.Context, ips []string) error {
	const fields = `{"f:metadata":{"f:labels":{".":{},"f:endpointslice.kubernetes.io/skip-mirror":{}}},"f:subsets":{}}`
	var subsets []corev1.EndpointSubset
	if len(ips) > 0 {
		s := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "https", Port: int32(e.port),
			Protocol: corev1.ProtocolTCP}}}
		for _, ip := range ips {
			s.Addresses = append(s.Addresses, corev1.EndpointAddress{IP: ip})
		}
		subsets = append(subsets, s)
	}
	want := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubernetes", Namespace: metav1.NamespaceDefault,
			Labels:        map[string]string{discoveryv1.LabelSkipMirror: "true"},
			ManagedFields: written("v1", fields),
		},
		Subsets: subsets,
	}
	return put(ctx, group.Endpoints(e.stores), want, func(have *corev1.Endpoints) bool {
		if !check.Differs(have.Subsets, subsets) && have.Labels[discoveryv1.LabelSkipMirror] == "true" {
			return false
		}
		have.Subsets, have.Labels = subsets, want.Labels
		return true
	})
}

func (e *Endpoint) putSlice(ctx context.Context, ips []string) error {
	const fields = `{"f:addressType":{},"f:endpoints":{},"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/service-name":{}}},"f:ports":{}}`
	ready, name, port, protocol := true, "https", int32(e.port), corev1.ProtocolTCP
	want := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubernetes", Namespace: metav1.NamespaceDefault,
			Labels:        map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
			ManagedFields: written("discovery.k8s.io/v1", fields),
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
	v6 := e.ip.To4() == nil
	if v6 {
		want.AddressType = discoveryv1.AddressTypeIPv6
	}
	for _, ip := range ips {
		if utilnet.IsIPv6String(ip) != v6 {
			continue // of a replica that had an address of the other family, until its lease ends
		}
		want.Endpoints = append(want.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	if err := e.dropSliceOfOtherFamily(ctx, want.AddressType); err != nil {
		return err
	}
	return put(ctx, group.EndpointSlices(e.stores), want, func(have *discoveryv1.EndpointSlice) bool {
		if slices.EqualFunc(have.Endpoints, want.Endpoints,
			func(a, b discoveryv1.Endpoint) bool { return !check.Differs(a, b) }) &&
			!check.Differs(have.Ports, want.Ports) {
			return false
		}
		have.Endpoints, have.Ports = want.Endpoints, want.Ports
		return true
	})
}

// dropSliceOfOtherFamily deletes the slice that was written while the server had an address of
// the other family: the type of a slice's addresses cannot change.
func (e *Endpoint) dropSliceOfOtherFamily(ctx context.Context, own discoveryv1.AddressType) error {
	slices := group.EndpointSlices(e.stores)
	have, err := slices.GetConsistent(ctx, metav1.NamespaceDefault, "kubernetes")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || have.AddressType == own {
		return err
	}
	remove := slices.Verbs().Delete
	if remove == nil {
		return fmt.Errorf("%s cannot be deleted", slices.Resource())
	}
	same := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}}
	_, _, err = remove(request.WithNamespace(asServer(ctx), have.Namespace),
		rest.DeleteRequest{Name: have.Name, Options: same})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another replica was faster
	}
	return err
}
