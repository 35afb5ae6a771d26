package kubeapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/core"
	"triplane.dev/kubeapi/group"
)

// Server is the core server.
type Server struct {
	GenericAPIServer *server.GenericAPIServer
	// Stores finds the storage of built-in resources.
	Stores *group.Stores

	config CompletedConfig
	// endpoint keeps this replica in the Service "kubernetes", nil where it
	// advertises no address.
	endpoint *bootstrap.Endpoint
	// peer announces this replica to the others, nil where it has no address for them.
	peer     *bootstrap.Peer
	identity *bootstrap.Identity
}

// New makes the core server in front of a delegate, with all built-in groups.
func (c CompletedConfig) New(delegate server.DelegationTarget) (*Server, error) {
	generic, err := c.generic.New("kube-apiserver", delegate)
	if err != nil {
		return nil, err
	}
	s := &Server{GenericAPIServer: generic, Stores: c.Groups.Stores, config: c}
	if err := s.installGroups(); err != nil {
		return nil, err
	}
	if err := s.makeEndpoint(); err != nil {
		return nil, err
	}
	return s, s.addHooks()
}

func (s *Server) makeEndpoint() error {
	c := &s.config
	s.identity = bootstrap.NewIdentity(s.Stores, c.Peer)
	options, err := c.Groups.RESTOptions.GetRESTOptions(schema.GroupResource{Resource: "apiserveripinfo"})
	if err != nil {
		return err
	}
	if c.AdvertiseAddress != nil && c.Replicas > 0 {
		s.endpoint = bootstrap.NewCountedEndpoint(s.Stores, c.AdvertiseAddress, c.AdvertisePort, c.Replicas)
	} else if c.AdvertiseAddress != nil {
		s.endpoint = bootstrap.NewEndpoint(s.Stores, options, c.AdvertiseAddress, c.AdvertisePort)
	}
	if c.Groups.Gate("UnknownVersionInteroperabilityProxy") && c.Peer != nil {
		s.peer = bootstrap.NewPeer(options, s.identity.Name(), c.Peer.IP, c.Peer.Port)
	}
	return nil
}

func (s *Server) installGroups() error {
	info, err := core.Group(s.config.Groups)
	if err != nil {
		return fmt.Errorf("core group: %w", err)
	}
	if len(info.PrioritizedVersions) > 0 {
		if err := s.GenericAPIServer.InstallLegacyAPIGroup("/api", info); err != nil {
			return err
		}
	}
	for _, build := range groups() {
		info, err := build(s.config.Groups)
		if err != nil {
			return err
		}
		if len(info.PrioritizedVersions) == 0 {
			continue
		}
		if err := s.GenericAPIServer.InstallAPIGroups(info); err != nil {
			return err
		}
	}
	return nil
}
