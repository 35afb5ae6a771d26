package admission

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane/kubeapi/group"
)

// serviceResolver finds where the Services of webhooks can be reached: at their
// cluster IP.
type serviceResolver struct{ stores *group.Stores }

// ResolveEndpoint implements webhook.Resolver.
func (r *serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	s, err := group.GetNew[*corev1.Service](context.Background(), r.stores, core("services"), namespace, name)
	if err != nil {
		return nil, err
	}
	host := s.Spec.ClusterIP
	switch {
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		host = s.Spec.ExternalName
	case host == corev1.ClusterIPNone || host == "":
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("cannot route to service with ClusterIP %q", host))
	case !hasPort(s, port):
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, name))
	}
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}, nil
}

func hasPort(s *corev1.Service, port int32) bool {
	for i := range s.Spec.Ports {
		if s.Spec.Ports[i].Port == port {
			return true
		}
	}
	return false
}
