package workspaces

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

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

// Validate returns an error for each invalid value.
func (o *Options) Validate() []error {
	if o.IdleTimeout < time.Second {
		return []error{errors.New("--workspace-idle-timeout must be at least 1s")}
	}
	return nil
}
