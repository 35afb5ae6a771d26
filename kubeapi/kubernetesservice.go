package kubeapi

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/core/service"
	"triplane.dev/kubeapi/core/service/allocator"
	"triplane.dev/kubeapi/group"
)

// kubernetesService keeps the Service "kubernetes". A server that is killed between the allocation of
// its IP or node port and the write of the Service leaves them allocated to no Service; the next server
// releases them.
//
// It is not safe for concurrent use.
type kubernetesService struct {
	*Server
	address net.IP
	// failing is when the write failed first, of those that failed in a row; zero if the last one succeeded.
	failing time.Time
}

// leftFor is how long an IP or a node port must have been allocated without a Service to be released: a
// replica may be about to write the Service. It is less than beginFor, so that a start does not fail.
const leftFor = 2 * time.Second

// kubernetesService returns what keeps the Service; nil without ranges of IPs.
func (s *Server) kubernetesService() *kubernetesService {
	ranges := s.config.Groups.ServiceCIDRs
	if len(ranges) == 0 {
		return nil
	}
	return &kubernetesService{Server: s, address: ServiceAddress(ranges[0])}
}

// ensure creates the Service if it is missing.
func (k *kubernetesService) ensure(ctx context.Context) error {
	err := k.write(ctx)
	if err == nil {
		return nil
	}
	if k.failing.IsZero() {
		k.failing = time.Now()
	}
	if left := k.releaseLeft(ctx); left != nil {
		return errors.Join(err, left)
	}
	return k.write(ctx)
}

func (k *kubernetesService) write(ctx context.Context) error {
	err := bootstrap.KubernetesService(ctx, k.Stores, k.address, k.config.AdvertisePort,
		k.config.KubernetesServiceNodePort)
	if err == nil {
		k.failing = time.Time{}
	}
	return err
}

// releaseLeft releases the IP and the node port if there is no Service.
func (k *kubernetesService) releaseLeft(ctx context.Context) error {
	_, err := group.Services(k.Stores).GetConsistent(ctx, metav1.NamespaceDefault, "kubernetes")
	if !apierrors.IsNotFound(err) {
		return err
	}
	return errors.Join(k.releaseAddress(ctx), k.releaseNodePort(ctx))
}

func (k *kubernetesService) releaseAddress(ctx context.Context) error {
	ip, ok := netip.AddrFromSlice(k.address)
	if !ok {
		return nil
	}
	return k.clusterIPs().ReleaseOlder(ctx, ip.Unmap(), metav1.NamespaceDefault, "kubernetes", leftFor)
}

// releaseNodePort goes by how long the write has failed: an allocated port has neither owner nor age.
func (k *kubernetesService) releaseNodePort(ctx context.Context) error {
	port := k.config.KubernetesServiceNodePort
	if port == 0 || time.Since(k.failing) < leftFor {
		return nil
	}
	ports, err := k.nodePorts()
	if err != nil {
		return err
	}
	return ports.ReleaseUnused(ctx, k.Stores, int32(port))
}

// clusterIPs is the allocator of cluster IPs.
func (s *Server) clusterIPs() *allocator.IPs {
	groups := &s.config.Groups
	return allocator.NewIPs(s.Stores, service.Prefixes(groups.ServiceCIDRs), allocator.NewMetrics(groups.Metrics))
}

// nodePorts is the allocator of node ports.
func (s *Server) nodePorts() (*allocator.Ports, error) {
	groups := &s.config.Groups
	options, err := groups.RESTOptions.GetRESTOptions(allocator.PortAllocations)
	if err != nil {
		return nil, err
	}
	return allocator.NewPorts(options, groups.NodePortRange, allocator.NewMetrics(groups.Metrics)), nil
}

// serviceHook creates the Service "kubernetes" and this replica's endpoint of it, and
// keeps both.
func (s *Server) serviceHook(ctx context.Context) error {
	if k := s.kubernetesService(); k != nil {
		if err := s.keptAddress("the Service kubernetes", k.ensure)(ctx); err != nil {
			return err
		}
	}
	if s.endpoint == nil {
		return nil
	}
	if err := begin(ctx, "the endpoint of the Service kubernetes", s.endpoint.Renew); err != nil {
		return err
	}
	s.GenericAPIServer.Go(func(ctx context.Context) { s.endpoint.Keep(ctx, s.config.Upkeep.Every) })
	return nil
}

// leaveEndpoints removes this replica from the endpoints of the Service "kubernetes" and from its peers
// before it ends.
func (s *Server) leaveEndpoints() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var errs []error
	if s.peer != nil {
		errs = append(errs, ignoreUnavailable(s.peer.Leave(ctx)))
	}
	if s.endpoint != nil {
		errs = append(errs, ignoreUnavailable(s.endpoint.Leave(ctx)))
	}
	return errors.Join(errs...)
}

// ignoreUnavailable drops the error of a store that has no room or does not answer: the server ends
// without the write, since what was to be removed expires.
func ignoreUnavailable(err error) error {
	for _, ignored := range []error{storage.ErrNoSpace, storage.ErrUnavailable, storage.ErrStopped,
		context.DeadlineExceeded} {
		if errors.Is(err, ignored) {
			klog.InfoS("The address of the server stays in the store until it expires", "err", err)
			return nil
		}
	}
	return err
}
