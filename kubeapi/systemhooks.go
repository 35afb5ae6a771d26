package kubeapi

import (
	"context"
	"time"

	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"

	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/core/service/allocator"
)

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

// repairHook puts the allocation of cluster IPs and node ports in order.
func (s *Server) repairHook(ctx context.Context) error {
	ports, err := s.nodePorts()
	if err != nil {
		return err
	}
	events, err := eventsv1client.NewForConfig(s.GenericAPIServer.LoopbackClientConfig)
	if err != nil {
		return err
	}
	repair := allocator.NewRepair(s.Stores, s.clusterIPs(), ports,
		allocator.NewRecorders(events, s.GenericAPIServer.Go))
	if err := begin(ctx, "the allocation of IPs and ports", repair.Pass); err != nil {
		return err
	}
	s.start(ctx, repair.Periodic(repairInterval))
	s.start(ctx, repair.Following())
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

// authoritiesEvery is how often it is looked whether the certificate authorities changed
// that external API servers have to know.
const authoritiesEvery = time.Second

// authenticationInfoHook publishes how this server authenticates, at once and when its
// certificate authorities change.
func (s *Server) authenticationInfoHook(ctx context.Context) error {
	const what = bootstrap.AuthenticationInfoName
	published := s.authenticationInfo()
	err := s.kept(what, func(ctx context.Context) error { return s.authenticationInfo().Publish(ctx, s.Stores) })(ctx)
	if err != nil {
		return err
	}
	if s.GenericAPIServer.Config().Nested {
		return nil // what is kept suffices: no server accepts the identities that it could present
	}
	s.start(ctx, bootstrap.Keep(authoritiesEvery, what, func(ctx context.Context) error {
		now := s.authenticationInfo()
		if now.SameAuthorities(published) {
			return nil
		}
		if err := now.Publish(ctx, s.Stores); err != nil {
			return err
		}
		published = now
		return nil
	}))
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
