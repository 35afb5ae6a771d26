package server

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/emicklei/go-restful/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/routes"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/serve/healthz"
)

// installHealth serves /healthz, /livez and /readyz with the checks and hooks of the whole chain.
func (p *PreparedServer) installHealth() {
	checks := p.HealthChecks()
	all, livez, readyz := slices.Clone(checks.Healthz), slices.Clone(checks.Livez), slices.Clone(checks.Readyz)
	for _, h := range p.PostStartHooks() {
		c := h.check()
		all = append(all, c)
		livez = append(livez, healthz.Delayed(c, &p.started, p.config.LivezGracePeriod))
		readyz = append(readyz, c)
	}
	readyz = append(readyz, healthz.NamedCheck("shutdown", func() error {
		if p.stopping.Load() {
			return errStopping
		}
		return nil
	}))
	m := p.Handler.NonGoRestfulMux
	var indicators *healthz.SLIs
	if !p.config.Nested { // they describe the process
		indicators = healthz.NewSLIs()
		m.Handle("/metrics/slis", indicators.Handler())
	}
	healthz.NewEndpoint("healthz", all, indicators).Install(m)
	healthz.NewEndpoint("livez", livez, indicators).Install(m)
	p.readyz = healthz.NewEndpoint("readyz", readyz, indicators)
	p.readyz.Install(m)
}

// installIndex lists the paths of the whole chain at "/".
func (s *GenericAPIServer) installIndex() {
	index := func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"paths": s.ListedPaths()})
	}
	s.Handler.NonGoRestfulMux.UnlistedHandleFunc("/", index)
	s.Handler.NonGoRestfulMux.UnlistedHandleFunc("/index.html", index)
}

func (s *GenericAPIServer) installVersion() {
	info := s.config.Version
	s.Handler.Add(&routes.Document{
		Path: "/version", Produces: []string{restful.MIME_JSON}, Consumes: []string{restful.MIME_JSON},
		Handler: func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, info) },
		Doc:     "get the version information for this server", Operation: "getCodeVersion", Sample: *info,
	})
}

// installMetrics serves the metrics registry in the Prometheus text formats.
func (s *GenericAPIServer) installMetrics() {
	if err := s.config.Metrics.RegisterBuildInfo(s.config.Version); err != nil {
		klog.ErrorS(err, "Failed to register build information as a metric")
	}
	if err := s.config.Metrics.RegisterVersion(s.config.Version); err != nil {
		klog.ErrorS(err, "Failed to register the version as a metric")
	}
	s.config.Metrics.RegisterDisabled(len(s.config.DisabledMetrics))
	gatherer := s.config.AllowedLabels.Restrict(without(s.config.Metrics, s.config.DisabledMetrics))
	h := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	s.Handler.NonGoRestfulMux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			h.ServeHTTP(w, r)
			return
		}
		if err := s.config.Metrics.Reset(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "metrics reset\n")
	})
}

// without drops metric families by name.
func without(g prometheus.Gatherer, names []string) prometheus.Gatherer {
	if len(names) == 0 {
		return g
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := g.Gather()
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			return slices.Contains(names, f.GetName())
		}), err
	})
}

// installFlowControl serves the state of priority and fairness.
func (s *GenericAPIServer) installFlowControl() {
	c := s.config.FlowControl
	if c == nil {
		return
	}
	s.config.Metrics.MustRegister(c.Collector())
	for name, dump := range c.Dumps() {
		s.Handler.NonGoRestfulMux.UnlistedHandleFunc(flowcontrol.DebugPath+name, dump)
	}
}

// installOpenAPI serves the OpenAPI documents of the whole chain.
func (s *GenericAPIServer) installOpenAPI() {
	if s.config.OpenAPI == nil {
		return
	}
	mux := s.Handler.NonGoRestfulMux
	if !mux.Serves("/openapi/v2") {
		mux.Handle("/openapi/v2", s.config.OpenAPI.V2Handler())
	}
	if !mux.Serves("/openapi/v3") {
		mux.Handle("/openapi/v3", s.config.OpenAPI.V3Handler())
		mux.HandlePrefix("/openapi/v3/", s.config.OpenAPI.V3Handler())
	}
	if s.config.Nested {
		return // it has the documents of the outer chain's routes
	}
	for _, g := range s.chain() {
		s.config.OpenAPI.AddWebServices(g.Handler.WebServices)
	}
}

// writeJSON responds with an indented document.
func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b)
}
