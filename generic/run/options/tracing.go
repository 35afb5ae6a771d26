package options

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"triplane.dev/generic/base/tracing"
)

// Tracing configures the export of spans.
type Tracing struct {
	// ConfigFile is a TracingConfiguration; "" disables tracing.
	ConfigFile string
}

// AddFlags binds the flags.
func (o *Tracing) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "tracing-config-file", o.ConfigFile,
		"File with a TracingConfiguration: where to export spans (OTLP over gRPC), and the sampling rate. If "+
			"blank, tracing is disabled.")
}

// Load reads the file, for the server instance of that name; it returns nil without a file.
func (o *Tracing) Load(ctx context.Context, instance string) (*tracing.Provider, error) {
	p, err := tracing.Load(ctx, o.ConfigFile, instance)
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	return p, nil
}
