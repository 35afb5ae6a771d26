package workspaces

import (
	"context"
	"net/http"
	"time"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/storage"
)

// Config configures a Manager.
type Config struct {
	// IdleTimeout is how long a workspace without requests stays awake.
	IdleTimeout time.Duration
	// Backend stores the keys of workspaces below Prefix + "/" + Path(NAME, UID).
	Backend storage.Backend
	Prefix  string
	// Drop releases the caches of a workspace that has stopped, whose keys are below a path.
	Drop func(path string)
}

// Chain is the chain of servers of a workspace.
type Chain struct {
	// Handler serves authorized requests, whose URL has no prefix.
	Handler http.Handler
	// Run runs the chain until ctx is done. It is ready when Ready is closed.
	Run   func(ctx context.Context) error
	Ready <-chan struct{}
	// Authentication authenticates requests, Authorizer authorizes them.
	Authentication authentication.Request
	Authorizer     authorizer.Authorizer
	// Admits reports whether a binding of the workspace's administrators names a user. Without one the user has no
	// access, whatever the default roles allow to all authenticated users.
	Admits func(*user.Info) bool
	// Lookups reads the objects to which tokens refer.
	Lookups authoptions.Lookups
}

// Inputs are what the chain of a workspace is created from.
type Inputs struct {
	Name string
	// Path is that of its keys.
	Path string
	// Mark marks the context of a request as one of the chain's own clients. It reaches the chain before it is ready,
	// and does not keep it awake.
	Mark func(context.Context) context.Context
	// Admin reports whether a user may do everything in the workspace.
	Admin func(*user.Info) bool
}
