package kubeapi

import (
	"context"
	"math/big"
	"net"
	"strconv"
	"time"

	"triplane/kubeapi/bootstrap"
)

// serviceHook puts the Service "kubernetes" and this replica's endpoint of it in
// place, and keeps the endpoint.
func (s *Server) serviceHook(ctx context.Context) error {
	ranges := s.config.Groups.ServiceCIDRs
	if len(ranges) > 0 {
		err := bootstrap.KubernetesService(ctx, s.Stores, firstIP(ranges[0]), s.config.AdvertisePort, s.config.KubernetesServiceNodePort)
		if err != nil {
			return err
		}
	}
	if s.endpoint == nil {
		return nil
	}
	if err := s.endpoint.Renew(ctx); err != nil {
		return err
	}
	s.GenericAPIServer.Go(s.endpoint.Keep)
	return nil
}

// leaveEndpoints takes this replica from the Service "kubernetes" before it goes.
func (s *Server) leaveEndpoints() error {
	if s.endpoint == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return s.endpoint.Leave(ctx)
}

// identityHook keeps the lease that tells that this replica lives, and removes
// those of replicas that do not.
func (s *Server) identityHook(ctx context.Context) error {
	peer := ""
	if s.config.AdvertiseAddress != nil {
		peer = net.JoinHostPort(s.config.AdvertiseAddress.String(), strconv.Itoa(s.config.AdvertisePort))
	}
	id := bootstrap.NewIdentity(s.Stores, peer)
	if err := id.Renew(ctx); err != nil {
		return err
	}
	s.GenericAPIServer.Go(id.Keep)
	s.GenericAPIServer.Go(id.CollectGarbage)
	return nil
}

func (s *Server) authenticationInfo() *bootstrap.AuthenticationInfo {
	i := &bootstrap.AuthenticationInfo{ClientCA: s.config.ClientCA}
	if h := s.config.RequestHeader; h != nil {
		i.HasRequestHeaderProxy, i.RequestHeaderCA, i.AllowedNames = true, h.ClientCA, h.AllowedNames
		i.UsernameHeaders, i.UIDHeaders = h.UsernameHeaders, h.UIDHeaders
		i.GroupHeaders, i.ExtraHeaderPrefixes = h.GroupHeaders, h.ExtraHeaderPrefixes
	}
	return i
}

// firstIP is the first address behind a network's own.
func firstIP(n *net.IPNet) net.IP {
	b := new(big.Int).SetBytes(n.IP.Mask(n.Mask))
	b.Add(b, big.NewInt(1))
	return b.FillBytes(make([]byte, len(n.Mask)))
}
