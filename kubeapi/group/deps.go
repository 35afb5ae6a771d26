package group

import (
	"net"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"triplane/generic/authentication"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/registry"
	"triplane/generic/server"
)

// Deps is what a group is built from.
type Deps struct {
	Scheme        *runtime.Scheme
	RESTOptions   registry.RESTOptionsGetter
	TypeConverter func() (managedfields.TypeConverter, error)
	// Stores is where Add leaves the storage of each resource.
	Stores *Stores

	// Authorizer and RuleResolver answer reviews and RBAC's escalation checks;
	// a nil Authorizer allows everything.
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver
	// TokenAuthenticator answers TokenReviews; nil authenticates nobody.
	TokenAuthenticator authentication.Token
	APIAudiences       []string

	// ServiceCIDRs are the ranges of cluster IPs, the primary family first.
	ServiceCIDRs   []*net.IPNet
	NodePortRange  utilnet.PortRange
	EventTTL       time.Duration
	AllowPrivilege bool
}

// Func builds an API group.
type Func func(Deps) (*server.APIGroupInfo, error)
