package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	restclient "k8s.io/client-go/rest"

	"triplane/generic/serve/filters"
)

// GenericAPIServer answers the requests of one of the servers of a chain.
// Groups, paths, hooks and checks are added to it before PrepareRun of the
// outermost server; paths of NonGoRestfulMux may come and go later.
type GenericAPIServer struct {
	Name    string
	Handler *APIServerHandler
	// LoopbackClientConfig is for clients inside this process; see Config.
	LoopbackClientConfig *restclient.Config

	config   CompletedConfig
	delegate DelegationTarget
	filters  filters.Options // of the outermost server, from PrepareRun on

	// terminating is closed when long-running requests have to end.
	terminating   chan struct{}
	terminateOnce sync.Once
	life          *lifecycle

	mu               sync.Mutex
	prepared         bool
	postStartHooks   []PostStartHook
	preShutdownHooks []PreShutdownHook
	checks           HealthChecks

	// listed are paths of the index that come and go; nil has none.
	listed func() []string
}

func newServer(name string, c CompletedConfig, delegate DelegationTarget) (*GenericAPIServer, error) {
	behind := delegate.HealthChecks()
	s := &GenericAPIServer{
		Name:                 name,
		Handler:              newAPIServerHandler(name, delegate.UnprotectedHandler()),
		LoopbackClientConfig: c.LoopbackClientConfig,
		config:               c,
		delegate:             delegate,
		terminating:          make(chan struct{}),
		life:                 newLifecycle(),
		postStartHooks:       slices.Clone(delegate.PostStartHooks()),
		preShutdownHooks:     slices.Clone(delegate.PreShutdownHooks()),
		checks: HealthChecks{
			Healthz: slices.Clone(behind.Healthz),
			Livez:   slices.Clone(behind.Livez),
			Readyz:  slices.Clone(behind.Readyz),
		},
	}
	if len(behind.Healthz) == 0 {
		s.AddHealthChecks(pingHealth, logHealth)
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
	if c.EnableDiscovery {
		s.Handler.GoRestfulContainer.Add(c.Discovery.RootWebService())
	}
	return s, nil
}

// Config is what the server was made of.
func (s *GenericAPIServer) Config() *Config { return &s.config.Config }

// Terminating is closed when the server begins to shut down and long-running
// requests have to end.
func (s *GenericAPIServer) Terminating() <-chan struct{} { return s.terminating }

// Go runs f in a goroutine that shutdown waits for; f's context ends when the
// last request has been answered.
func (s *GenericAPIServer) Go(f func(ctx context.Context)) { s.life.start(f) }

// chain is the server with those behind it.
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
func (s *GenericAPIServer) HealthChecks() HealthChecks {
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

// ListPaths has the index list paths that come and go. It is called before the server runs.
func (s *GenericAPIServer) ListPaths(current func() []string) { s.listed = current }

// NextDelegate implements DelegationTarget.
func (s *GenericAPIServer) NextDelegate() DelegationTarget { return s.delegate }
