package embedded

import "github.com/prometheus/client_golang/prometheus"

// Collectors are the metrics of the space.
func (s *Server) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	space := s.backend.space
	return []prometheus.Collector{
		gauge("triplane_embedded_etcd_quota_bytes", "What the embedded etcd may have in use.", func() int64 { return space.quota }),
		gauge("triplane_embedded_etcd_used_bytes", "What of the database file of the embedded etcd is in use.", func() int64 {
			_, used := space.usage()
			return used
		}),
		counter("triplane_embedded_etcd_refused_writes_total", "Writes that the embedded etcd had no room for.", space.refused.Load),
		counter("triplane_embedded_etcd_defragmentations_total", "Times that the database file of the embedded etcd was written anew.", space.rewritten.Load),
	}
}
