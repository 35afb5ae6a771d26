package triplane

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// Workspaces configures workspaces: API servers of tenants at /workspaces/NAME.
type Workspaces struct {
	// Enabled serves the kind Workspace, and workspaces.
	Enabled bool
	// IdleTimeout is how long a workspace stays in memory without requests.
	IdleTimeout time.Duration
}

// wakes is how many workspaces are woken at once. Each of them uses a processor.
const wakes = 4

func newWorkspaces() *Workspaces { return &Workspaces{IdleTimeout: 5 * time.Minute} }

func (w *Workspaces) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&w.Enabled, "workspaces", w.Enabled,
		"Serve Workspaces (workspaces.triplane.dev): each is a separate API server at /workspaces/NAME, with "+
			"its own RBAC, CustomResourceDefinitions and objects in the storage of this server.")
	fs.DurationVar(&w.IdleTimeout, "workspace-idle-timeout", w.IdleTimeout,
		"How long a workspace without requests stays in memory. The next request loads it again.")
}

// Validate returns an error for each invalid value.
func (w *Workspaces) Validate() []error {
	if w.IdleTimeout < time.Second {
		return []error{errors.New("--workspace-idle-timeout must be at least 1s")}
	}
	return nil
}
