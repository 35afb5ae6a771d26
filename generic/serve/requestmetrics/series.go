package requestmetrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// OfPath returns the Series of a non-resource request. Few paths are counted separately: health checks, discovery and
// OpenAPI.
func OfPath(verb, path string) Series {
	s := Series{Verb: verb}
	switch path {
	case "/healthz", "/livez", "/readyz":
		s.Subresource = path
	case "/api", "/apis", "/openapi/v3":
		s.Subresource = path[1:]
	default:
		if strings.HasPrefix(path, "/openapi/v3/") {
			s.Subresource = "openapi/v3/"
		}
	}
	return s
}

// component returns the label "component", which kube-apiserver leaves empty for health checks and OpenAPI.
func (k *Series) component() string {
	switch k.Subresource {
	case "/healthz", "/livez", "/readyz", "openapi/v3", "openapi/v3/":
		return ""
	}
	return "apiserver"
}

func (s *series) makeDuration() prometheus.Observer { return s.durationOf(false) }

func (s *series) makeDryRun() prometheus.Observer { return s.durationOf(true) }

func (s *series) durationOf(dryRun bool) prometheus.Observer {
	k := &s.key
	return s.owner.duration.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope,
		dryRunLabel(dryRun), k.component())
}

func dryRunLabel(dryRun bool) string {
	if dryRun {
		return "All"
	}
	return ""
}

func (s *series) makeSLI() prometheus.Observer {
	k := &s.key
	return s.owner.sli.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.component())
}

func (s *series) makeSizes() prometheus.Observer {
	k := &s.key
	return s.owner.sizes.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope, k.component())
}

func (s *series) makeRunning() prometheus.Gauge {
	k := &s.key
	return s.owner.longRunning.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope,
		k.component())
}

// counter returns the counter for a request's outcome.
func (s *series) counter(d *Done) prometheus.Counter {
	for {
		known := s.outcomes.Load()
		for i := range *known {
			o := &(*known)[i]
			if o.code == d.Code && o.dryRun == d.DryRun {
				return o.counter
			}
		}
		k := &s.key
		c := s.owner.total.WithLabelValues(k.Verb, k.Group, k.Version, k.Resource, k.Subresource, k.Scope,
			dryRunLabel(d.DryRun), k.component(), strconv.Itoa(d.Code))
		more := append(append(make([]outcome, 0, len(*known)+1), *known...), outcome{d.Code, d.DryRun, c})
		if s.outcomes.CompareAndSwap(known, &more) {
			return c
		}
	}
}
