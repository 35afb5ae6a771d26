package options

import (
	"fmt"

	"github.com/spf13/pflag"

	"triplane/generic/base/egress"
)

// Egress is how the server connects to others.
type Egress struct {
	// ConfigFile is an EgressSelectorConfiguration; "" connects directly.
	ConfigFile string
}

// AddFlags binds the flags.
func (o *Egress) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "egress-selector-config-file", o.ConfigFile,
		"File with an EgressSelectorConfiguration: through which proxies nodes and webhooks (cluster, controlplane) and etcd are reached. If blank, directly.")
}

// Load reads the file; nil where there is none.
func (o *Egress) Load() (*egress.Selector, error) {
	s, err := egress.Load(o.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--egress-selector-config-file: %w", err)
	}
	return s, nil
}
