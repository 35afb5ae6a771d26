package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/core/proxy"
	"triplane.dev/kubeapi/group"
)

// Proxy serves "services/proxy": requests go on to a pod behind the Service.
type Proxy struct {
	Stores *group.Stores
	// Dial connects to pods; nil is directly.
	Dial proxy.Dial
}

// Resource returns what serves it.
func (c Proxy) Resource() *rest.Resource {
	return proxy.Resource(func() runtime.Object { return &corev1.ServiceProxyOptions{} }, c.connect)
}

// connect finds the endpoints before the service.
func (c Proxy) connect(ctx context.Context, r rest.ConnectRequest) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(r.Name)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", r.Name))
	}
	namespace := request.NamespaceFrom(ctx)
	port, err := c.portName(ctx, namespace, name, port)
	if err != nil {
		return nil, err
	}
	e, err := group.Endpoints(c.Stores).GetCached(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, noEndpoints(name)
	}
	if err != nil {
		return nil, err
	}
	ip, number, ok := c.endpoint(ctx, e, port)
	if !ok {
		return nil, noEndpoints(name)
	}
	x, _ := r.Query.(*corev1.ServiceProxyOptions)
	target := proxy.Target{Scheme: scheme, Host: ip, Port: strconv.Itoa(int(number)), Path: x.Path}
	return proxy.To(c.Dial, target, r.Responder)
}

func noEndpoints(name string) error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

// portName is the name of a port of a service; a number is that of the service's
// port.
func (c Proxy) portName(ctx context.Context, namespace, name, port string) (string, error) {
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return port, nil
	}
	s, err := group.Services(c.Stores).GetConsistent(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	for i := range s.Spec.Ports {
		if int64(s.Spec.Ports[i].Port) == number {
			return s.Spec.Ports[i].Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
}

// endpoint picks an address behind a port of a service, any of those that there
// are.
func (c Proxy) endpoint(ctx context.Context, e *corev1.Endpoints, port string) (string, int32, bool) {
	for _, i := range rand.Perm(len(e.Subsets)) {
		ss := &e.Subsets[i]
		at := slices.IndexFunc(ss.Ports, func(p corev1.EndpointPort) bool { return p.Name == port })
		if at < 0 {
			continue
		}
		for _, k := range rand.Perm(len(ss.Addresses)) {
			if a := &ss.Addresses[k]; c.ofPod(ctx, e.Namespace, a) {
				return a.IP, ss.Ports[at].Port, true
			}
		}
	}
	return "", 0, false
}

// ofPod reports whether an address is that of a pod of the namespace. No other is
// proxied to: whoever may write endpoints could reach anything else.
func (c Proxy) ofPod(ctx context.Context, namespace string, a *corev1.EndpointAddress) bool {
	if a.TargetRef == nil || a.TargetRef.Kind != "Pod" || a.TargetRef.Namespace != namespace || proxy.Check(a.IP) != nil {
		return false
	}
	p, err := group.Pods(c.Stores).GetCached(ctx, namespace, a.TargetRef.Name)
	return err == nil && slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == a.IP })
}
