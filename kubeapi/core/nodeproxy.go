package core

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/core/proxy"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/kubelet"
)

// nodeProxy serves "nodes/proxy".
type nodeProxy struct {
	stores   *group.Stores
	kubelets *kubelet.Client
}

func (c nodeProxy) resource() *rest.Resource {
	return proxy.Resource(func() runtime.Object { return &corev1.NodeProxyOptions{} }, c.connect)
}

func (c nodeProxy) connect(ctx context.Context, r rest.ConnectRequest) (http.Handler, error) {
	if r.Name == "" {
		return nil, apierrors.NewBadRequest("name must be provided")
	}
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(r.Name)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", r.Name))
	}
	n, err := group.Nodes(c.stores).GetConsistent(ctx, "", name)
	if err != nil {
		return nil, err
	}
	host, err := c.kubelets.Host(n)
	if err != nil {
		return nil, err
	}
	ip, err := proxy.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	x, _ := r.Query.(*corev1.NodeProxyOptions)
	if own := c.kubelets.PortOf(n); port == "" || port == own {
		return proxy.ToKubelet(c.kubelets, proxy.Target{Host: host, Port: own, Path: x.Path}, ip, r.Responder), nil
	}
	target := proxy.Target{Scheme: scheme, Host: host, Port: port, Path: x.Path}
	return proxy.To(proxy.Pinned(c.kubelets.Dial(), ip), target, r.Responder)
}
