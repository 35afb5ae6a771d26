package options

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"triplane/generic/base/tracing"
)

// Tracing is the export of spans.
type Tracing struct {
	// ConfigFile is a TracingConfiguration; "" exports nothing.
	ConfigFile string
}

// AddFlags binds the flags.
func (o *Tracing) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "tracing-config-file", o.ConfigFile,
		"File with a TracingConfiguration: where spans of requests are sent to with OTLP over gRPC, and how many. If blank, nowhere.")
}

// Load reads the file, for a server with a name; nil where there is none.
func (o *Tracing) Load(ctx context.Context, instance string) (*tracing.Provider, error) {
	p, err := tracing.Load(ctx, o.ConfigFile, instance)
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	return p, nil
}
