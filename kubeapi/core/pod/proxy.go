package pod

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/core/proxy"
	"triplane.dev/kubeapi/kubelet"
)

// proxyResource serves "pods/proxy".
type proxyResource struct {
	pods     *registry.Store[pod]
	kubelets *kubelet.Client // knows how to connect to the cluster
}

func (c proxyResource) resource() *rest.Resource {
	return proxy.Resource(func() runtime.Object { return &corev1.PodProxyOptions{} }, c.connect)
}

func (c proxyResource) connect(ctx context.Context, r rest.ConnectRequest) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(r.Name)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", r.Name))
	}
	p, err := c.pods.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if port == "" {
		for i := range p.Spec.Containers {
			if len(p.Spec.Containers[i].Ports) > 0 {
				port = strconv.Itoa(int(p.Spec.Containers[i].Ports[0].ContainerPort))
				break
			}
		}
	}
	ip := p.Status.PodIP
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	if err := proxy.Check(ip); err != nil {
		return nil, err
	}
	x, _ := r.Query.(*corev1.PodProxyOptions)
	return proxy.To(c.kubelets.Dial(), proxy.Target{Scheme: scheme, Host: ip, Port: port, Path: x.Path}, r.Responder)
}
