package aggregator

import (
	"github.com/prometheus/client_golang/prometheus"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var unavailableDesc = prometheus.NewDesc("aggregator_unavailable_apiservice",
	"Gauge of APIServices which are marked as unavailable broken down by APIService name.", []string{"name"}, nil)

// unavailableGauge collects the availability of APIServices on demand.
type unavailableGauge struct{ directory *directory }

func (g unavailableGauge) Describe(ch chan<- *prometheus.Desc) { ch <- unavailableDesc }

func (g unavailableGauge) Collect(ch chan<- prometheus.Metric) {
	g.directory.each(func(s *apiregistrationv1.APIService) {
		value := 1.0
		if isAvailable(s) {
			value = 0
		}
		ch <- prometheus.MustNewConstMetric(unavailableDesc, prometheus.GaugeValue, value, s.Name)
	})
}
