package embedded

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the metrics of the space.
func (s *Server) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value()) })
	}
	space := s.backend.space
	return []prometheus.Collector{
		gauge("triplane_embedded_etcd_quota_bytes", "Limit for the used bytes of the embedded etcd's database file.",
			func() int64 { return space.quota }),
		gauge("triplane_embedded_etcd_used_bytes", "Used bytes of the embedded etcd's database file.", func() int64 {
			_, used := space.usage()
			return used
		}),
		counter("triplane_embedded_etcd_refused_writes_total",
			"Writes that were rejected because the embedded etcd had no space.", space.refused.Load),
		counter("triplane_embedded_etcd_defragmentations_total", "Defragmentations of the embedded etcd's database file.",
			space.defragmented.Load),
	}
}
