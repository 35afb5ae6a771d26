package options

import (
	"fmt"

	"github.com/spf13/pflag"

	"triplane.dev/generic/base/egress"
)

// Egress configures outgoing connections.
type Egress struct {
	// ConfigFile is an EgressSelectorConfiguration; "" connects directly.
	ConfigFile string
}

// AddFlags binds the flags.
func (o *Egress) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "egress-selector-config-file", o.ConfigFile,
		"File with an EgressSelectorConfiguration: the proxies for connections to nodes and webhooks (cluster, "+
			"controlplane) and to the store (etcd), which can be PostgreSQL. If blank, connections are direct.")
}

// Load reads the file; it returns nil without one.
func (o *Egress) Load() (*egress.Selector, error) {
	s, err := egress.Load(o.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	return s, nil
}
