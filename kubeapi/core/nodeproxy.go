package core

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane/generic/registry/rest"
	"triplane/kubeapi/core/proxy"
	"triplane/kubeapi/group"
)

// nodeProxy serves "nodes/proxy".
type nodeProxy struct{ stores *group.Stores }

func (nodeProxy) New() runtime.Object { return &corev1.NodeProxyOptions{} }

// ConnectMethods implements rest.Connecter.
func (nodeProxy) ConnectMethods() []string { return proxy.Methods }

// NewConnectOptions implements rest.Connecter.
func (nodeProxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &corev1.NodeProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter.
func (c nodeProxy) Connect(ctx context.Context, id string, opts runtime.Object, r rest.Responder) (http.Handler, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	n, err := group.Get[*corev1.Node](ctx, c.stores, groupResource("nodes"), "", name, group.Consistent)
	if err != nil {
		return nil, err
	}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if err := proxy.Check(a.Address); err != nil {
			return nil, err
		}
		if port == "" {
			scheme, port = "https", strconv.Itoa(int(n.Status.DaemonEndpoints.KubeletEndpoint.Port))
		}
		x, _ := opts.(*corev1.NodeProxyOptions)
		return proxy.To(scheme, a.Address, port, x.Path, r), nil
	}
	return nil, fmt.Errorf("no preferred addresses found; known addresses: %v", n.Status.Addresses)
}
