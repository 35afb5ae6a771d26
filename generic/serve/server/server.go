package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/mux"
	"triplane.dev/internal/worker"
)

// GenericAPIServer is one of the servers of a chain. Groups, paths, hooks and checks are added before PrepareRun
// of the outermost server. Paths of NonGoRestfulMux can be added and removed later.
type GenericAPIServer struct {
	Name    string
	Handler *mux.APIServerHandler
	// LoopbackClientConfig configures clients inside this process; see Config.
	LoopbackClientConfig *restclient.Config

	config   CompletedConfig
	delegate DelegationTarget
	filters  filters.Options // of the outermost server, set by PrepareRun

	// terminating is closed when long-running requests must end.
	terminating   chan struct{}
	terminateOnce sync.Once
	life          *lifecycle

	mu               sync.Mutex
	prepared         bool
	postStartHooks   []PostStartHook
	preShutdownHooks []PreShutdownHook
	checks           healthz.HealthChecks

	// listed returns additional paths of the index, which change; nil adds none.
	listed func() []string
}

func newServer(name string, c CompletedConfig, delegate DelegationTarget) (*GenericAPIServer, error) {
	behind := delegate.HealthChecks()
	s := &GenericAPIServer{
		Name:                 name,
		Handler:              mux.NewAPIServerHandler(name, delegate.UnprotectedHandler()),
		LoopbackClientConfig: c.LoopbackClientConfig,
		config:               c,
		delegate:             delegate,
		terminating:          make(chan struct{}),
		life:                 newLifecycle(),
		postStartHooks:       slices.Clone(delegate.PostStartHooks()),
		preShutdownHooks:     slices.Clone(delegate.PreShutdownHooks()),
		checks: healthz.HealthChecks{
			Healthz: slices.Clone(behind.Healthz),
			Livez:   slices.Clone(behind.Livez),
			Readyz:  slices.Clone(behind.Readyz),
		},
	}
	if len(behind.Healthz) == 0 {
		s.AddHealthChecks(healthz.PingHealthz, healthz.LogHealthz)
		s.AddHealthChecks(c.HealthChecks...)
		s.checks.Healthz = append(s.checks.Healthz, c.ServiceChecks...)
		s.AddReadyzChecks(c.ServiceChecks...)
		s.AddReadyzChecks(c.ReadyChecks...)
		for _, h := range c.PostStartHooks {
			if err := s.AddPostStartHook(h.Name, h.Func); err != nil {
				return nil, err
			}
		}
	}
	if c.CBOR {
		c.Discovery.ServeCBOR()
	}
	if c.EnableDiscovery {
		s.Handler.Add(c.Discovery.RootService())
	}
	return s, nil
}

// Config returns the configuration of the server.
func (s *GenericAPIServer) Config() *Config { return &s.config.Config }

// Terminating returns a channel that is closed when the server starts to shut down and long-running requests must
// end.
func (s *GenericAPIServer) Terminating() <-chan struct{} { return s.terminating }

// Go runs f in a goroutine that shutdown waits for. f's context is done when the last request has completed.
func (s *GenericAPIServer) Go(f func(ctx context.Context)) { s.life.start(f) }

// Start starts work that shutdown waits for. Its context is done when the last request has completed.
func (s *GenericAPIServer) Start(r worker.Runner) { s.life.startRunner(r) }

// chain returns the server and the next servers of the chain.
func (s *GenericAPIServer) chain() []*GenericAPIServer {
	servers := []*GenericAPIServer{s}
	for d := s.delegate; d != nil; d = d.NextDelegate() {
		if behind, ok := d.(*GenericAPIServer); ok {
			servers = append(servers, behind)
		}
	}
	return servers
}

// UnprotectedHandler implements DelegationTarget.
func (s *GenericAPIServer) UnprotectedHandler() http.Handler { return s.Handler.Director }

// PostStartHooks implements DelegationTarget.
func (s *GenericAPIServer) PostStartHooks() []PostStartHook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.postStartHooks)
}

// PreShutdownHooks implements DelegationTarget.
func (s *GenericAPIServer) PreShutdownHooks() []PreShutdownHook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.preShutdownHooks)
}

// HealthChecks implements DelegationTarget.
func (s *GenericAPIServer) HealthChecks() healthz.HealthChecks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// ListedPaths implements DelegationTarget.
func (s *GenericAPIServer) ListedPaths() []string {
	paths := append(s.Handler.ListedPaths(), s.delegate.ListedPaths()...)
	if s.listed != nil {
		paths = append(paths, s.listed()...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// ListPaths adds paths to the index that change while the server runs. It must be called before the server runs.
func (s *GenericAPIServer) ListPaths(current func() []string) { s.listed = current }

// NextDelegate implements DelegationTarget.
func (s *GenericAPIServer) NextDelegate() DelegationTarget { return s.delegate }

// AddHealthChecks adds checks to all three endpoints.
func (s *GenericAPIServer) AddHealthChecks(checks ...healthz.HealthChecker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks.Healthz = append(s.checks.Healthz, checks...)
	s.checks.Livez = append(s.checks.Livez, checks...)
	s.checks.Readyz = append(s.checks.Readyz, checks...)
}

// AddReadyzChecks adds checks to /readyz only.
func (s *GenericAPIServer) AddReadyzChecks(checks ...healthz.HealthChecker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks.Readyz = append(s.checks.Readyz, checks...)
}
