package workspaces

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

// Config configures a Manager.
type Config struct {
	// IdleTimeout is how long a workspace without requests stays awake.
	IdleTimeout time.Duration
	// Backend stores the keys of workspaces below Prefix + "/" + Path(NAME, UID).
	Backend storage.Backend
	Prefix  string
	// Alone is set if no other replica serves the same storage.
	Alone bool
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
	Admits func(context.Context, *user.Info) (bool, error)
	// Lookups reads the objects to which tokens refer.
	Lookups authoptions.Lookups
	// Loopback configures clients of the chain with all permissions.
	Loopback *restclient.Config
	// Due returns when controllers have work next if nothing changes before; the zero time if they have none.
	Due func() time.Time
}

// Inputs are what the chain of a workspace is created from.
type Inputs struct {
	Name string
	// Path is that of its keys.
	Path string
	// Mark marks the context of a request as one of the chain's own clients. It reaches the chain before it is ready,
	// and does not keep it awake.
	Mark func(context.Context) context.Context
	// Work is done when the chain has work besides reads, for its controllers and for what keeps objects in place: before
	// the first write. Nil if work is due.
	Work context.Context //nolint:containedctx // of the awake workspace
	// Admin reports whether a user may do everything in the workspace.
	Admin func(*user.Info) bool

	origin    origin
	existence *existence
	turns     *worker.Turns
}

// Turns returns the function that waits until the workspace's controllers have work, and for their turn to start; nil
// for the root chain, whose controllers do not wait.
func (in *Inputs) Turns() func(context.Context) (end func()) {
	if in == nil || in.turns == nil {
		return nil
	}
	return func(ctx context.Context) (end func()) {
		if in.Work != nil {
			select {
			case <-in.Work.Done():
			case <-ctx.Done():
			}
		}
		return in.turns.Wait(ctx)
	}
}

// Options are the flags of workspaces.
type Options struct {
	// Enabled serves the kind Workspace, and workspaces.
	Enabled bool
	// IdleTimeout is how long a workspace stays in memory without requests.
	IdleTimeout time.Duration
}

// NewOptions returns the defaults.
func NewOptions() *Options { return &Options{IdleTimeout: 5 * time.Minute} }

// AddFlags binds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "workspaces", o.Enabled,
		"Serve Workspaces (workspaces.triplane.dev): each is a separate API server at /workspaces/NAME, with "+
			"its own RBAC, CustomResourceDefinitions and objects in the storage of this server.")
	fs.DurationVar(&o.IdleTimeout, "workspace-idle-timeout", o.IdleTimeout,
		"How long a workspace without requests stays in memory. The next request loads it again.")
}

// Validate returns an error for each invalid value, and for storage options that workspaces do not support.
func (o *Options) Validate(stored *storageoptions.Etcd) []error {
	var errs []error
	if o.IdleTimeout < time.Second {
		errs = append(errs, errors.New("--workspace-idle-timeout must be at least 1s"))
	}
	overrides, _ := stored.ParseOverrides() // Etcd.Validate reports the error
	for _, override := range overrides {
		if kind := GroupVersion.WithResource(Plural).GroupResource(); o.Enabled &&
			slices.Contains(override.Resources, kind) {
			errs = append(errs, fmt.Errorf("--etcd-servers-overrides: remove %s/%s: with --workspaces they must be in the "+
				"default storage, because writes in a workspace check that it exists", kind.Group, kind.Resource))
		}
	}
	return errs
}
