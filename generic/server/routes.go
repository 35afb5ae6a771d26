package server

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	goruntime "runtime"
	"slices"

	"github.com/emicklei/go-restful/v3"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"

	"triplane/generic/flowcontrol"
)

// installHealth serves /healthz, /livez and /readyz with the checks of the whole
// chain and its hooks.
func (p *PreparedServer) installHealth() {
	checks := p.HealthChecks()
	healthz, livez, readyz := slices.Clone(checks.Healthz), slices.Clone(checks.Livez), slices.Clone(checks.Readyz)
	for _, h := range p.PostStartHooks() {
		c := h.check()
		healthz = append(healthz, c)
		livez = append(livez, delayed(c, &p.started, p.config.LivezGracePeriod))
		readyz = append(readyz, c)
	}
	readyz = append(readyz, NamedCheck("shutdown", func() error {
		if p.stopping.Load() {
			return errStopping
		}
		return nil
	}))
	mux := p.Handler.NonGoRestfulMux
	newHealthEndpoint("healthz", healthz).install(mux)
	newHealthEndpoint("livez", livez).install(mux)
	newHealthEndpoint("readyz", readyz).install(mux)
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
	ws := new(restful.WebService)
	ws.Path("/version").Doc("git code version from which this is built")
	ws.Route(ws.GET("/").To(func(_ *restful.Request, resp *restful.Response) { writeJSON(resp.ResponseWriter, info) }).
		Doc("get the version information for this server").
		Operation("getCodeVersion").
		Produces(restful.MIME_JSON).
		Consumes(restful.MIME_JSON).
		Writes(*info))
	s.Handler.GoRestfulContainer.Add(ws)
}

// installMetrics serves the registry in the text formats of Prometheus.
func (s *GenericAPIServer) installMetrics() {
	if err := s.config.Metrics.RegisterBuildInfo(s.config.Version); err != nil {
		klog.ErrorS(err, "The build information is not among the metrics")
	}
	h := promhttp.HandlerFor(s.config.Metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	s.Handler.NonGoRestfulMux.Handle("/metrics", h)
}

// ProfilingOptions is which profiles are served below /debug/pprof/.
type ProfilingOptions struct {
	// EnableProfiling (--profiling) serves profiles; EnableContentionProfiling
	// (--contention-profiling) samples blocking too, if they are served.
	EnableProfiling           bool
	EnableContentionProfiling bool
}

// installFlowControl shows the state of priority and fairness.
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

func (s *GenericAPIServer) installProfiling() {
	if !s.config.EnableProfiling {
		return
	}
	mux := s.Handler.NonGoRestfulMux
	redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/debug/pprof/", http.StatusFound) }
	mux.UnlistedHandleFunc("/debug/pprof", redirect)
	mux.UnlistedHandlePrefix("/debug/pprof/", http.HandlerFunc(pprof.Index))
	mux.UnlistedHandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.UnlistedHandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.UnlistedHandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.UnlistedHandleFunc("/debug/pprof/trace", pprof.Trace)
	if s.config.EnableContentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}
}

// installOpenAPI serves the documents of the whole chain.
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
	for _, g := range s.chain() {
		s.config.OpenAPI.AddWebServices(g.Handler.WebServices)
	}
}

// writeJSON answers with an indented document, as people read these.
func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b)
}
