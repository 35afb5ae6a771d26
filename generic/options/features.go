package options

import (
	"github.com/spf13/pflag"

	"triplane/generic/server"
)

// Features are what can be switched on and off.
type Features struct {
	server.ProfilingOptions
	// DisabledMetrics are the names of metrics that are not served.
	DisabledMetrics []string
	// EnableLogs serves the files below /var/log.
	EnableLogs bool
}

// NewFeatures returns the defaults.
func NewFeatures() *Features {
	return &Features{ProfilingOptions: server.ProfilingOptions{EnableProfiling: true}}
}

// AddFlags binds the flags.
func (o *Features) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.EnableProfiling, "profiling", o.EnableProfiling, "Serve profiles at /debug/pprof/.")
	fs.StringVar(&o.DebugSocketPath, "debug-socket-path", o.DebugSocketPath,
		"Serve profiles at this Unix socket, too, to whoever may open it.")
	fs.BoolVar(&o.EnableLogs, "enable-logs-handler", o.EnableLogs, "Serve the files below /var/log at /logs.")
	_ = fs.MarkDeprecated("enable-logs-handler", "Log handler functionality is deprecated")
	fs.Lookup("enable-logs-handler").Hidden = false
	fs.StringSliceVar(&o.DisabledMetrics, "disabled-metrics", o.DisabledMetrics, "Names of metrics not to serve.")
	fs.BoolVar(&o.EnableContentionProfiling, "contention-profiling", o.EnableContentionProfiling, "Profile blocking too, if profiling is enabled.")
}

// ApplyTo sets what the options say.
func (o *Features) ApplyTo(c *server.Config) {
<<<<<<< HEAD
=======
	o.Gates.warn()
	c.CBOR = o.Gates.Enabled(GateCBOR)
	c.UnreadDeletion = o.Gates.Enabled(GateUnreadDeletion)
>>>>>>> ops
	c.ProfilingOptions = o.ProfilingOptions
	c.DisabledMetrics, c.EnableLogs = o.DisabledMetrics, o.EnableLogs
}
