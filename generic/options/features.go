package options

import (
	"strings"

	"github.com/spf13/pflag"

	"triplane/generic/server"
)

// Features are what can be switched on and off.
type Features struct {
	Profiling           bool
	ContentionProfiling bool
	Gates               FeatureGates
}

// NewFeatures returns the defaults.
func NewFeatures() *Features { return &Features{Profiling: true} }

// AddFlags binds the flags.
func (o *Features) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Profiling, "profiling", o.Profiling, "Serve profiles at /debug/pprof/.")
	fs.Var(&o.Gates, "feature-gates", "Feature gates of kube-apiserver, name=true|false, comma separated. "+
		"Of those, "+strings.Join(followed, ", ")+" change something here; the others are as they are by default.")
	fs.BoolVar(&o.ContentionProfiling, "contention-profiling", o.ContentionProfiling, "Profile blocking too, if profiling is enabled.")
}

// ApplyTo sets what the options say.
func (o *Features) ApplyTo(c *server.Config) {
	o.Gates.warn()
	c.CBOR = o.Gates.Enabled(GateCBOR)
	c.EnableProfiling = o.Profiling
	c.EnableContentionProfiling = o.ContentionProfiling
}
