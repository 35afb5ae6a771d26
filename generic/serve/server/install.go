package server

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/endpoints"
)

// EndpointOptions is how the resources of API groups are served.
type EndpointOptions struct {
	// MinRequestTimeout (--min-request-timeout) is the least time after which a
	// watch is ended; each gets a random time between it and its double.
	MinRequestTimeout time.Duration
	// MaxRequestBodyBytes bounds bodies; larger ones are answered 413.
	MaxRequestBodyBytes int64
	// CBOR lets bodies, answers and watches travel as CBOR (the feature gate
	// CBORServingAndStorage).
	CBOR bool
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
	s.Handler.GoRestfulContainer.Add(s.config.Discovery.LegacyWebService(prefix, s.config.ExternalAddress))
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
		s.Handler.GoRestfulContainer.Add(s.config.Discovery.GroupWebService(group))
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
		storage := info.VersionedResourcesStorageMap[gv.Version]
		if len(storage) == 0 {
			continue
		}
		v := &endpoints.APIGroupVersion{
			Root:          root,
			GroupVersion:  gv,
			Resources:     storage,
			Scheme:        info.Scheme,
			SchemeName:    info.SchemeName,
			TypeConverter: info.TypeConverter,
			Shared:        s.Endpoints(),
			Routes:        s.Handler.DeferRoutes,
		}
		resources, err := v.Install(s.Handler.GoRestfulContainer)
		if err != nil {
			return fmt.Errorf("API group version %q: %w", gv, err)
		}
		s.announce(gv, resources)
	}
	s.Handler.Refresh()
	return nil
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
	s.config.Discovery.Set(discovery.Version{
		GroupVersion:    gv,
		GroupPriority:   group,
		VersionPriority: version,
		Resources:       resources,
	})
}
