package kubeapi

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/bootstrap"
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
	if s.Stores.Like() != nil {
		return s.installLater()
	}
	for _, build := range groups() {
		info, err := build(s.config.Groups)
		if err != nil {
			return err
		}
		if err := s.installGroup(info); err != nil {
			return err
		}
		var served []discovery.Version
		for _, gv := range info.PrioritizedVersions {
			if v, ok := s.GenericAPIServer.Config().Discovery.Get(gv); ok {
				served = append(served, v)
			}
		}
		s.Stores.Built(served)
	}
	return nil
}

func (s *Server) installGroup(info *server.APIGroupInfo) error {
	switch {
	case len(info.PrioritizedVersions) == 0:
		return nil
	case info.PrioritizedVersions[0].Group == "":
		return s.GenericAPIServer.InstallLegacyAPIGroup("/api", info)
	}
	return s.GenericAPIServer.InstallAPIGroups(info)
}

// buildLater makes groups be built when they are needed. The result has those that are built.
func (s *Server) buildLater() ([]*server.APIGroupInfo, error) {
	options, err := s.config.Groups.RESTOptions.GetRESTOptions(schema.GroupResource{Resource: "namespaces"})
	if err != nil {
		return nil, err
	}
	all := groups()
	built := make([]*server.APIGroupInfo, len(all))
	s.Stores.Later(options.Prefix+"/", func(group int) (err error) {
		built[group], err = all[group](s.config.Groups)
		return err
	})
	return built, nil
}

// installLater installs groups that are built when they are needed.
func (s *Server) installLater() error {
	built, err := s.buildLater()
	if err != nil {
		return err
	}
	for group, served := range s.Stores.Like().Versions {
		if len(served) > 0 {
			s.GenericAPIServer.InstallLater(served, func() (*server.APIGroupInfo, error) {
				err := s.Stores.Build(group)
				return built[group], err
			})
		}
	}
	return nil
}
