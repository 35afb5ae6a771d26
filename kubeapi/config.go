package kubeapi

import (
	"context"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/run/options"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/controllers/leadership"
	"triplane.dev/kubeapi/fieldgates"
	"triplane.dev/kubeapi/group"
)

// Config is what the core server is made of.
type Config struct {
	// Generic is the configuration of the server itself.
	Generic *server.Config
	// Groups is what the API groups are built from. New sets its RESTOptions,
	// Authorizer, RuleResolver and Served, and Stores where it is nil: give the one that
	// the admission plugins read from. With those of group.NewStoresLike, groups are built when they are needed, and
	// the server neither creates nor repairs the default policy, priority classes and objects of flow control, which
	// the storage shows (WriteDefaults).
	Groups group.Deps

	// AdvertiseAddress and AdvertisePort are this replica's endpoint of the
	// kubernetes Service; a nil address adds none.
	AdvertiseAddress net.IP
	AdvertisePort    int
	// Replicas, where not 0, is how many servers there are: endpoints are kept without
	// leases then.
	Replicas int
	// Peer is where other servers of the same storage reach this one; nil announces it to
	// none.
	Peer *net.TCPAddr
	// KubernetesServiceNodePort makes that Service a NodePort one; 0 leaves it a
	// ClusterIP.
	KubernetesServiceNodePort int

	// ClientCA and RequestHeader are what external API servers read from the
	// config map extension-apiserver-authentication: PEM as it is now, nil where there
	// is none.
	ClientCA      func() []byte
	RequestHeader *RequestHeader

	// Leadership is how long the Leases of coordinated leader election last, where that
	// feature is on; nil elects no leader.
	Leadership *leadership.Durations
	// PublishStorageVersions says in StorageVersions how this server stores resources,
	// where that feature is on.
	PublishStorageVersions bool
	// SimulateWorkloads creates the role of the controller that sets the status of simulated pods, ApplyManifests
	// that of the controller that applies --manifests.
	SimulateWorkloads, ApplyManifests bool

	// PolicyInForce returns when RBAC decides by these roles and bindings, or by later versions
	// of them; nil waits for nothing.
	PolicyInForce func(context.Context, []metav1.Object) error

	// Upkeep is when the server looks after what it creates for itself.
	Upkeep Upkeep
}

// Upkeep is when a server looks after what it creates for itself.
type Upkeep struct {
	// Every is the interval; 0 is a minute. The Service kubernetes and its ServiceCIDR have ten seconds at most.
	Every time.Duration
	// From, where set, is done when upkeep begins: all objects exist already. Nil begins at the start, which waits for
	// the objects.
	From context.Context //nolint:containedctx // an event
}

// RequestHeader is how a front proxy names the user of a request.
type RequestHeader struct {
	ClientCA            func() []byte // PEM, as it is now
	AllowedNames        []string
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct {
	Config
	generic server.CompletedConfig
}

// Complete fills in what was left open.
func (c *Config) Complete() CompletedConfig {
	done := CompletedConfig{Config: *c, generic: c.Generic.Complete()}
	g := &done.Groups
	g.RESTOptions = c.Generic.RESTOptionsGetter
	if g.Stores == nil {
		g.Stores = group.NewStores()
	}
	g.Authorizer, g.RuleResolver, g.Served = c.Generic.Authorization, c.Generic.RuleResolver, c.Generic.Discovery
	if g.Enabled == nil {
		g.Enabled = options.NewCompatibility().Enabled
	}
	g.Metrics = done.generic.Metrics.Registry
	if g.Fields == nil {
		g.Fields = fieldgates.New(g.Enabled)
	}
	if done.PolicyInForce == nil {
		done.PolicyInForce = func(context.Context, []metav1.Object) error { return nil }
	}
	if g.EventTTL == 0 {
		g.EventTTL = time.Hour
	}
	if done.Upkeep.Every == 0 {
		done.Upkeep.Every = time.Minute
	}
	if g.NodePortRange.Size == 0 {
		g.NodePortRange = utilnet.PortRange{Base: 30000, Size: 2768}
	}
	return done
}
