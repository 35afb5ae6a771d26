package core

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane/generic/api/rest"
	"triplane/kubeapi/core/proxy"
	"triplane/kubeapi/group"
	"triplane/kubeapi/kubelet"
)

// nodeProxy serves "nodes/proxy".
type nodeProxy struct {
	stores   *group.Stores
	kubelets *kubelet.Client
}

func (nodeProxy) New() runtime.Object { return &corev1.NodeProxyOptions{} }

// ConnectMethods implements rest.Connecter.
func (nodeProxy) ConnectMethods() []string { return proxy.Methods }

// NewConnectOptions implements rest.Connecter.
func (nodeProxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1.NodeProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter.
func (c nodeProxy) Connect(ctx context.Context, id string, opts runtime.Object, r rest.Responder) (http.Handler, error) {
	if id == "" {
		return nil, apierrors.NewBadRequest("name must be provided")
	}
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	n, err := group.Get[*corev1.Node](ctx, c.stores, groupResource("nodes"), "", name, group.Consistent)
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
	x, _ := opts.(*corev1.NodeProxyOptions)
	if own := c.kubelets.PortOf(n); port == "" || port == own {
		return proxy.ToKubelet(c.kubelets, host, ip, own, x.Path, r), nil
	}
	return proxy.To(proxy.Pinned(c.kubelets.Dial(), ip), scheme, host, port, x.Path, r)
}
