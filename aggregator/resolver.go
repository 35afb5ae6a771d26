package aggregator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/base/egress"
)

// ServiceResolver resolves Services to URLs. It is safe for concurrent use.
type ServiceResolver interface {
	// ResolveEndpoint returns the URL (host and port) for a port of a Service, or a NotFound or ServiceUnavailable
	// error.
	ResolveEndpoint(namespace, name string, port int32) (*url.URL, error)
}

// Services resolves Services with the Services and EndpointSlices of this process. The first use starts to watch
// them, and waits until they are listed. It is safe for concurrent use.
type Services struct {
	ServiceResolver
	*egress.Selector
	backends *backends
	cancel   context.CancelFunc
}

// NewServices returns Services that reads with the informers of a factory, which is its own. It resolves to a
// Service's cluster IP or, with routeToEndpoints (--enable-aggregator-routing), to one of its endpoints. The
// selector connects to Services and webhooks; a nil one connects directly.
func NewServices(factory informers.Shared, routeToEndpoints bool, e *egress.Selector) (*Services, error) {
	ctx, cancel := context.WithCancel(context.Background())
	b, err := newBackends(ctx, factory)
	if err != nil {
		cancel()
		return nil, err
	}
	if routeToEndpoints {
		return &Services{endpointResolver{b}, e, b, cancel}, nil
	}
	return &Services{clusterIPResolver{b}, e, b, cancel}, nil
}

// stop ends the watches and waits for them.
func (s *Services) stop() {
	s.cancel()
	s.backends.shutdown()
}

// serviceGetter returns Services, or a NotFound error.
type serviceGetter interface {
	service(namespace, name string) (*corev1.Service, error)
}

// endpointGetter returns Services and their EndpointSlices.
type endpointGetter interface {
	serviceGetter
	slicesOf(namespace, name string) ([]*discoveryv1.EndpointSlice, error)
}

// clusterIPResolver resolves Services to their cluster IP, which requires kube-proxy. ExternalName Services
// resolve to that name.
type clusterIPResolver struct{ services serviceGetter }

func (r clusterIPResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	svc, err := r.services.service(namespace, name)
	if err != nil {
		return nil, err
	}
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return hostURL(svc.Spec.ExternalName, port), nil
	case svc.Spec.ClusterIP == corev1.ClusterIPNone || svc.Spec.ClusterIP == "":
		return nil, errors.NewServiceUnavailable(fmt.Sprintf("cannot route to service with ClusterIP %q",
			svc.Spec.ClusterIP))
	}
	if _, err := servicePort(svc, port); err != nil {
		return nil, err
	}
	return hostURL(svc.Spec.ClusterIP, port), nil
}

// endpointResolver resolves Services to a random ready endpoint, which does not require kube-proxy
// (--enable-aggregator-routing).
type endpointResolver struct{ backends endpointGetter }

func (r endpointResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	svc, err := r.backends.service(namespace, name)
	if err != nil {
		return nil, err
	}
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return hostURL(svc.Spec.ExternalName, port), nil
	}
	sp, err := servicePort(svc, port)
	if err != nil {
		return nil, err
	}
	slices, err := r.backends.slicesOf(namespace, name)
	if err != nil {
		return nil, err
	}
	addresses := readyAddresses(slices, sp.Name)
	if len(addresses) == 0 {
		return nil, errors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
	return &url.URL{Scheme: "https", Host: addresses[rand.IntN(len(addresses))]}, nil
}

func hostURL(host string, port int32) *url.URL {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}
}

func servicePort(svc *corev1.Service, port int32) (*corev1.ServicePort, error) {
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Port == port {
			return &svc.Spec.Ports[i], nil
		}
	}
	return nil, errors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, svc.Name))
}

// readyAddresses returns host:port of the ready endpoints of a named port. Each endpoint counts once: further
// addresses belong to the same server.
func readyAddresses(slices []*discoveryv1.EndpointSlice, portName string) []string {
	var out []string
	for _, slice := range slices {
		for _, p := range slice.Ports {
			if ptr.Deref(p.Name, "") != portName || p.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				if ptr.Deref(e.Conditions.Ready, true) && len(e.Addresses) > 0 {
					out = append(out, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	return out
}
