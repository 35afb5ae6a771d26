package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/version"
)

// RegisterBuildInfo adds kubernetes_build_info, which is 1 and has the version in
// its labels.
func (r *Registry) RegisterBuildInfo(v *version.Info) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kubernetes_build_info", Help: "1, with the version of the server as labels.",
		ConstLabels: prometheus.Labels{
			"major": v.Major, "minor": v.Minor, "git_version": v.GitVersion, "git_commit": v.GitCommit, "git_tree_state": v.GitTreeState,
			"build_date": v.BuildDate, "go_version": v.GoVersion, "compiler": v.Compiler, "platform": v.Platform,
		},
	}, func() float64 { return 1 }))
}
