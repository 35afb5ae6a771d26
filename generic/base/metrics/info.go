package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"
)

// RegisterBuildInfo registers kubernetes_build_info, which is 1 and has the version in its labels.
func (r *Registry) RegisterBuildInfo(v *version.Info) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubernetes_build_info", Help: "1, with the version of the server as labels.",
		ConstLabels: prometheus.Labels{
			"major": v.Major, "minor": v.Minor, "git_version": v.GitVersion, "git_commit": v.GitCommit,
			"git_tree_state": v.GitTreeState,
			"build_date":     v.BuildDate, "go_version": v.GoVersion, "compiler": v.Compiler, "platform": v.Platform,
		},
	}, func() float64 { return 1 }))
}

// RegisterVersion registers version_info, which is 1 and has the versions of the server in its labels.
func (r *Registry) RegisterVersion(v *version.Info) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "version_info",
		Help: "1, with the binary version, the emulation version and the minimum compatibility version as labels.",
		ConstLabels: prometheus.Labels{
			"component": "kube", "binary": v.Major + "." + v.Minor, "emulation": v.EmulationMajor + "." + v.EmulationMinor,
			"min_compat": v.MinCompatibilityMajor + "." + v.MinCompatibilityMinor,
		},
	}, func() float64 { return 1 }))
}

// RegisterGates registers kubernetes_feature_enabled for the gates in stages, which has the stage of each gate.
func (r *Registry) RegisterGates(stages map[string]string, enabled func(gate string) bool) error {
	gates := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled",
		Help: "1 for enabled feature gates, 0 for disabled ones, with their stage."}, []string{"name", "stage"})
	for gate, stage := range stages {
		value := 0.0
		if enabled(gate) {
			value = 1
		}
		gates.WithLabelValues(gate, stage).Set(value)
	}
	return r.Register(gates)
}

// RegisterDisabled registers how many metrics --disabled-metrics disables. The number of hidden metrics is
// always 0.
func (r *Registry) RegisterDisabled(disabled int) {
	count := func(name, help string, n int) prometheus.Collector {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		c.Add(float64(n))
		return c
	}
	r.MustRegister(
		count("disabled_metrics_total", "Metrics that are switched off.", disabled),
		count("hidden_metrics_total", "Metrics that are hidden before they are removed.", 0),
	)
}
