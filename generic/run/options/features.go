package options

import (
	"github.com/spf13/pflag"

	"triplane.dev/generic/serve/server"
)

// Features configures optional endpoints and metrics.
type Features struct {
	server.ProfilingOptions
	// DisabledMetrics are the names of metrics that are not exported.
	DisabledMetrics []string
	// AllowedLabels are the allowed values of metric labels, "METRIC,LABEL": "VALUE,VALUE". AllowedLabelsFile is a
	// file with the same content.
	AllowedLabels     map[string]string
	AllowedLabelsFile string
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
		"Serve profiles at this Unix socket as well, without authentication.")
	fs.BoolVar(&o.EnableLogs, "enable-logs-handler", o.EnableLogs, "Serve the files below /var/log at /logs.")
	_ = fs.MarkDeprecated("enable-logs-handler", "Log handler functionality is deprecated")
	fs.Lookup("enable-logs-handler").Hidden = false
	fs.StringSliceVar(&o.DisabledMetrics, "disabled-metrics", o.DisabledMetrics,
		"Names of metrics that are not served.")
	fs.StringToStringVar(&o.AllowedLabels, "allow-metric-labels", o.AllowedLabels,
		"The allowed values of a metric's label, METRIC,LABEL=VALUE,VALUE; all others become \"unexpected\". May "+
			"be repeated.")
	fs.StringVar(&o.AllowedLabelsFile, "allow-metric-labels-manifest", o.AllowedLabelsFile,
		"A YAML file whose allowListMapping has the same, as \"METRIC,LABEL\": \"VALUE,VALUE\". "+
			"--allow-metric-labels takes precedence.")
	fs.BoolVar(&o.EnableContentionProfiling, "contention-profiling", o.EnableContentionProfiling,
		"Profile blocking as well, if profiling is enabled.")
}

// ApplyTo applies the options. It returns an error if the file of labels cannot be read.
func (o *Features) ApplyTo(c *server.Config) (err error) {
	c.ProfilingOptions = o.ProfilingOptions
	c.DisabledMetrics, c.EnableLogs = o.DisabledMetrics, o.EnableLogs
	c.AllowedLabels, err = o.allowedLabels()
	return err
}
