package options

import (
	"strings"

	"github.com/spf13/pflag"

	"triplane/generic/server"
)

// Features are what can be switched on and off.
type Features struct {
	server.ProfilingOptions
	Gates FeatureGates
}

// NewFeatures returns the defaults.
func NewFeatures() *Features {
	return &Features{ProfilingOptions: server.ProfilingOptions{EnableProfiling: true}}
}

// AddFlags binds the flags.
func (o *Features) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.EnableProfiling, "profiling", o.EnableProfiling, "Serve profiles at /debug/pprof/.")
	fs.Var(&o.Gates, "feature-gates", "Feature gates of kube-apiserver, name=true|false, comma separated. "+
		"Of those, "+strings.Join(followed, ", ")+" change something here; the others are as they are by default.")
	fs.BoolVar(&o.EnableContentionProfiling, "contention-profiling", o.EnableContentionProfiling, "Profile blocking too, if profiling is enabled.")
}

// ApplyTo sets what the options say.
func (o *Features) ApplyTo(c *server.Config) {
	o.Gates.warn()
	c.CBOR = o.Gates.Enabled(GateCBOR)
	c.ProfilingOptions = o.ProfilingOptions
}
