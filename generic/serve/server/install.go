package server

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/endpoints"
	"triplane.dev/generic/base/routes"
)

// EndpointOptions is how the resources of API groups are served.
type EndpointOptions struct {
	// MinRequestTimeout (--min-request-timeout) is the least time after which a
	// watch is ended; each gets a random time between it and its double.
	MinRequestTimeout time.Duration
	// MaxRequestBodyBytes bounds bodies; larger ones are answered 413.
	MaxRequestBodyBytes int64
	// UnreadDeletion lets objects be deleted that cannot be read from storage (the
	// feature gate AllowUnsafeMalformedObjectDeletion).
	UnreadDeletion bool
	// NoInitialEvents refuses watches that are to begin with what there is (the feature
	// gate WatchList is off).
	NoInitialEvents bool
	// Shards lets lists and watches be of shards (the feature ShardedListAndWatch); otherwise
	// shardSelector is ignored.
	Shards bool
}

// DefaultEndpointOptions returns kube-apiserver's defaults.
func DefaultEndpointOptions() EndpointOptions {
	return EndpointOptions{MinRequestTimeout: 30 * time.Minute, MaxRequestBodyBytes: 3 << 20}
}

// Validate returns an error for a negative duration.
func (o *EndpointOptions) Validate() []error {
	if o.MinRequestTimeout < 0 {
		return []error{errors.New("--min-request-timeout cannot be negative")}
	}
	return nil
}

// InstallLegacyAPIGroup installs the core group below prefix, "/api".
func (s *GenericAPIServer) InstallLegacyAPIGroup(prefix string, info *APIGroupInfo) error {
	if err := s.installVersions(prefix, info); err != nil {
		return err
	}
	s.Handler.Add(s.config.Discovery.LegacyService(prefix, s.config.ExternalAddress))
	return nil
}

// InstallAPIGroups installs groups at "/apis/GROUP", each with a document of its
// versions.
func (s *GenericAPIServer) InstallAPIGroups(infos ...*APIGroupInfo) error {
	for _, info := range infos {
		if len(info.PrioritizedVersions) == 0 {
			return fmt.Errorf("an API group without versions cannot be installed")
		}
		group := info.PrioritizedVersions[0].Group
		if group == "" {
			return fmt.Errorf("the core group is installed with InstallLegacyAPIGroup")
		}
		if err := s.installVersions("/apis", info); err != nil {
			return err
		}
		s.Handler.Add(s.config.Discovery.GroupService(group))
	}
	return nil
}

func (s *GenericAPIServer) installVersions(root string, info *APIGroupInfo) error {
	for _, hook := range info.PostStartHooks {
		if err := s.AddPostStartHook(hook.Name, hook.Func); err != nil {
			return err
		}
	}
	for _, gv := range info.PrioritizedVersions {
		if len(info.VersionedResourcesStorageMap[gv.Version]) == 0 {
			continue
		}
		g := s.groupVersion(root, info, gv)
		resources, err := g.Discovered()
		if err != nil {
			return fmt.Errorf("API group version %q: %w", gv, err)
		}
		s.Handler.Add(g.Service())
		s.announce(gv, resources)
	}
	return nil
}

func (s *GenericAPIServer) groupVersion(root string, info *APIGroupInfo,
	gv schema.GroupVersion) *endpoints.APIGroupVersion {
	return &endpoints.APIGroupVersion{
		Root:          root,
		GroupVersion:  gv,
		Resources:     info.VersionedResourcesStorageMap[gv.Version],
		Scheme:        info.Scheme,
		SchemeName:    info.SchemeName,
		TypeConverter: info.TypeConverter,
		Shared:        s.Endpoints(),
	}
}

// InstallLater installs an API group that build builds for its first request: once, and without post-start hooks.
// served are its versions, which another chain of the process serves with the same resources.
func (s *GenericAPIServer) InstallLater(served []discovery.Version, build func() (*APIGroupInfo, error)) {
	document := s.config.Discovery.GroupService(served[0].GroupVersion.Group)
	root := "/apis"
	if served[0].GroupVersion.Group == "" {
		root = "/api"
		document = s.config.Discovery.LegacyService(root, s.config.ExternalAddress)
	}
	s.Handler.Add(document)
	for i := range served {
		gv := served[i].GroupVersion
		s.config.Discovery.Set(&served[i])
		s.Handler.AddLater(document.Root()+"/"+gv.Version, func() (routes.Service, error) {
			info, err := build()
			if err != nil {
				return nil, err
			}
			return s.groupVersion(root, info, gv).Service(), nil
		})
	}
}

// Endpoints is what the handlers of all resources of the server share.
func (s *GenericAPIServer) Endpoints() endpoints.Shared {
	return endpoints.Shared{
		Admission:           s.config.Admission,
		Authorizer:          s.config.Authorization,
		Served:              s.config.Discovery.Serves,
		MaxRequestBodyBytes: s.config.MaxRequestBodyBytes,
		CBOR:                s.config.CBOR,
		UnreadDeletion:      s.config.UnreadDeletion,
		NoInitialEvents:     s.config.NoInitialEvents,
		Shards:              s.config.Shards,
		MinRequestTimeout:   s.config.MinRequestTimeout,
		Watches:             s.config.Metrics.Watches,
	}
}

// announce enters a version into discovery with the priority it has by default.
func (s *GenericAPIServer) announce(gv schema.GroupVersion, resources []metav1.APIResource) {
	group, version := discovery.DefaultPriority(gv)
	s.config.Discovery.Set(&discovery.Version{
		GroupVersion:    gv,
		GroupPriority:   group,
		VersionPriority: version,
		Resources:       resources,
	})
}
