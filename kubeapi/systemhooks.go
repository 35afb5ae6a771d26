package kubeapi

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"triplane/generic/request"
	"triplane/generic/storage"
	"triplane/kubeapi/bootstrap"
	"triplane/kubeapi/core/service"
	"triplane/kubeapi/core/service/allocator"
	"triplane/kubeapi/group"
)

// kubernetesService puts the Service "kubernetes" in place.
func (s *Server) kubernetesService(ctx context.Context) error {
	ranges := s.config.Groups.ServiceCIDRs
	if len(ranges) == 0 {
		return nil
	}
	address := ServiceAddress(ranges[0])
	write := func() error {
		return bootstrap.KubernetesService(ctx, s.Stores, address, s.config.AdvertisePort, s.config.KubernetesServiceNodePort)
	}
	err := write()
	if err == nil {
		return nil
	}
	if left := s.releaseLeftAddress(ctx, address); left != nil {
		return errors.Join(err, left)
	}
	return write()
}

// leftFor is how old the IP of a Service has to be that there is not: a replica may be about to write
// the Service. It is less than beginFor, so that a start does not fail for it.
const leftFor = 2 * time.Second

// releaseLeftAddress gives back the IP of the Service "kubernetes" that a server has left which was
// killed before it wrote the Service.
func (s *Server) releaseLeftAddress(ctx context.Context, address net.IP) error {
	_, err := group.Get[*corev1.Service](ctx, s.Stores, corev1.Resource("services"), metav1.NamespaceDefault, "kubernetes", group.Consistent)
	if !apierrors.IsNotFound(err) {
		return err
	}
	ip, ok := netip.AddrFromSlice(address)
	if !ok {
		return nil
	}
	ips := allocator.NewIPs(s.Stores, service.Prefixes(s.config.Groups.ServiceCIDRs), s.config.Groups.Allocation)
	return ips.ReleaseOlder(ctx, ip.Unmap(), metav1.NamespaceDefault, "kubernetes", leftFor)
}

// serviceHook puts the Service "kubernetes" and this replica's endpoint of it in
// place, and keeps both.
func (s *Server) serviceHook(ctx context.Context) error {
	if err := s.kept("the Service kubernetes", s.kubernetesService)(ctx); err != nil {
		return err
	}
	if s.endpoint == nil {
		return nil
	}
	if err := begin(ctx, "the endpoint of the Service kubernetes", s.endpoint.Renew); err != nil {
		return err
	}
	s.GenericAPIServer.Go(s.endpoint.Keep)
	return nil
}

// leaveEndpoints takes this replica from the Service "kubernetes" and from its peers before
// it goes.
func (s *Server) leaveEndpoints() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var errs []error
	if s.peer != nil {
		errs = append(errs, unlessAway(s.peer.Leave(ctx)))
	}
	if s.endpoint != nil {
		errs = append(errs, unlessAway(s.endpoint.Leave(ctx)))
	}
	return errors.Join(errs...)
}

// unlessAway drops the error of a store that has no room or does not answer: a stop is as good
// without the write, since what was to be removed expires.
func unlessAway(err error) error {
	for _, away := range []error{storage.ErrNoSpace, storage.ErrUnavailable, storage.ErrStopped, context.DeadlineExceeded} {
		if errors.Is(err, away) {
			klog.InfoS("The store does not take the end of the server, its address stays until it expires", "err", err)
			return nil
		}
	}
	return err
}

// peerHook keeps this replica known to its peers.
func (s *Server) peerHook(ctx context.Context) error {
	if s.peer == nil {
		return nil
	}
	if err := begin(ctx, "the lease for peers", s.peer.Renew); err != nil {
		return err
	}
	s.GenericAPIServer.Go(s.peer.Keep)
	return nil
}

// storageHook waits until storage answers.
func (s *Server) storageHook(ctx context.Context) error {
	if health := s.config.Groups.StorageHealth; health != nil {
		return health(ctx)
	}
	return nil
}

// repairInterval is how often the allocation of IPs and ports is compared with
// the Services that there are.
const repairInterval = 3 * time.Minute

// repairEvents returns what writes Events about the allocation of IPs and ports, while the server
// runs.
func (s *Server) repairEvents(ctx context.Context) (allocator.Recorders, error) {
	client, err := eventsv1client.NewForConfig(s.GenericAPIServer.LoopbackClientConfig)
	if err != nil {
		return allocator.Recorders{}, err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client})
	started := make(chan struct{}) // before that, events are lost
	s.GenericAPIServer.Go(func(ctx context.Context) {
		defer broadcaster.Shutdown()
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			klog.ErrorS(err, "There are no events about the allocation of IPs and ports")
		}
		close(started)
		<-ctx.Done()
	})
	select {
	case <-started:
	case <-ctx.Done():
		return allocator.Recorders{}, ctx.Err()
	}
	return allocator.Recorders{
		IPs:   broadcaster.NewRecorder(clientscheme.Scheme, allocator.IPRepair),
		Ports: broadcaster.NewRecorder(clientscheme.Scheme, allocator.PortRepair),
	}, nil
}

// repairHook puts the allocation of cluster IPs and node ports in order.
func (s *Server) repairHook(ctx context.Context) error {
	groups := &s.config.Groups
	options, err := groups.RESTOptions.GetRESTOptions(schema.GroupResource{Resource: "servicenodeportallocations"})
	if err != nil {
		return err
	}
	recorders, err := s.repairEvents(ctx)
	if err != nil {
		return err
	}
	repair := allocator.NewRepair(s.Stores, allocator.NewIPs(s.Stores, service.Prefixes(groups.ServiceCIDRs), groups.Allocation),
		allocator.NewPorts(options, groups.NodePortRange, groups.Allocation), recorders)
	if err := begin(ctx, "the allocation of IPs and ports", repair.Pass); err != nil {
		return err
	}
	self := request.UserFrom(ctx)
	s.GenericAPIServer.Go(func(ctx context.Context) { repair.Keep(request.WithUser(ctx, self), repairInterval) })
	return nil
}

// identityHook keeps the lease that shows that this replica lives.
func (s *Server) identityHook(ctx context.Context) error {
	if !s.config.Groups.Gate("APIServerIdentity") {
		return nil
	}
	if err := begin(ctx, "the identity lease", s.identity.Renew); err != nil {
		return err
	}
	s.GenericAPIServer.Go(s.identity.Keep)
	return nil
}

// identityGarbageHook removes the leases of replicas that live no more.
func (s *Server) identityGarbageHook(context.Context) error {
	s.GenericAPIServer.Go(s.identity.CollectGarbage)
	return nil
}

func (s *Server) authenticationInfo() *bootstrap.AuthenticationInfo {
	i := &bootstrap.AuthenticationInfo{}
	if s.config.ClientCA != nil {
		i.ClientCA = s.config.ClientCA()
	}
	if h := s.config.RequestHeader; h != nil {
		i.HasRequestHeaderProxy, i.RequestHeaderCA, i.AllowedNames = true, h.ClientCA(), h.AllowedNames
		i.UsernameHeaders, i.UIDHeaders = h.UsernameHeaders, h.UIDHeaders
		i.GroupHeaders, i.ExtraHeaderPrefixes = h.GroupHeaders, h.ExtraHeaderPrefixes
	}
	return i
}
