package group

import (
	"context"
	"net"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/fieldgates"
	"triplane.dev/kubeapi/kubelet"
)

// Deps is what a group is built from.
type Deps struct {
	Scheme        *runtime.Scheme
	RESTOptions   registry.RESTOptionsGetter
	TypeConverter func() (managedfields.TypeConverter, error)
	// Enabled reports whether a feature gate is on, Serves whether a resource is
	// served in a version. With a nil Enabled no gate is on, a nil Serves serves
	// what is stable.
	Enabled func(gate string) bool
	Serves  func(gv schema.GroupVersion, resource string) bool
	Release Release
	// Fields are those of features that are off; nil are those of Enabled.
	Fields *fieldgates.Set
	// Metrics has the metrics of groups; nil counts nothing.
	Metrics *metrics.Registry
	// Stores is where Add leaves the storage of each resource.
	Stores *Stores

	// Authorizer and RuleResolver answer reviews and RBAC's escalation checks;
	// a nil Authorizer allows everything.
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver
	// Served lists what the server serves; a nil one serves nothing.
	Served *discovery.Groups
	// TokenAuthenticator answers TokenReviews; nil authenticates no token.
	TokenAuthenticator authentication.Token
	APIAudiences       []string
	// TokenIssuer signs service account tokens; nil serves no TokenRequests.
	// Lifetimes asked for are cut to MaxTokenLifetime, where above 0; with
	// ExtendTokens the tokens of pods live for ExtendedLifetime, for clients that
	// do not read them again.
	TokenIssuer      *serviceaccount.Issuer
	MaxTokenLifetime time.Duration
	ExtendTokens     bool
	ExtendedLifetime time.Duration
	// StorageHealth reports whether storage answers, for component statuses.
	StorageHealth func(context.Context) error

	// ServiceCIDRs are the ranges of cluster IPs, the primary family first.
	ServiceCIDRs  []*net.IPNet
	NodePortRange utilnet.PortRange
	EventTTL      time.Duration
	// AllowPrivileged lets pods have privileged containers.
	AllowPrivileged bool
	// Kubelets reaches the kubelets of nodes.
	Kubelets *kubelet.Client
}

// Gate reports whether a feature gate is on.
func (d *Deps) Gate(name string) bool { return d.Enabled != nil && d.Enabled(name) }

// Addresses returns how addresses are validated in fields of old.
func (d *Deps) Addresses() check.Addresses {
	return check.Addresses{Loose: !d.Gate("StrictIPCIDRValidation")}
}

// serves reports whether a resource is served in a version.
func (d *Deps) serves(gv schema.GroupVersion, resource string) bool {
	if d.Serves == nil {
		return !strings.Contains(gv.Version, "alpha") && !strings.Contains(gv.Version, "beta")
	}
	return d.Serves(gv, resource)
}

// Func builds an API group.
type Func func(Deps) (*server.APIGroupInfo, error)
