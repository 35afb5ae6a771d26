package options

import (
	"github.com/spf13/pflag"

	"triplane/generic/server"
)

// Features are what can be switched on and off.
type Features struct {
	Profiling           bool
	ContentionProfiling bool
}

// NewFeatures returns the defaults.
func NewFeatures() *Features { return &Features{Profiling: true} }

// AddFlags binds the flags.
func (o *Features) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling, "Serve profiles at /debug/pprof/.")
	fs.BoolVar(&o.ContentionProfiling, "contention-profiling", o.ContentionProfiling, "Profile blocking too, if profiling is enabled.")
}

// ApplyTo sets what the options say.
func (o *Features) ApplyTo(c *server.Config) {
	c.EnableProfiling = o.Profiling
	c.EnableContentionProfiling = o.ContentionProfiling
}
