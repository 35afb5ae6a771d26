package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/secureserving"
	"triplane.dev/internal/worker"
)

// RunOptions configures start and shutdown of the outermost server.
type RunOptions struct {
	// LivezGracePeriod (--livez-grace-period) is how long after the start unfinished hooks do not fail /livez.
	LivezGracePeriod time.Duration
	// ShutdownDelayDuration (--shutdown-delay-duration) is how long the server still serves after readiness
	// started to fail.
	ShutdownDelayDuration time.Duration
	// ShutdownWatchTerminationGracePeriod (--shutdown-watch-termination-grace-period) bounds the wait for watches
	// to end.
	ShutdownWatchTerminationGracePeriod time.Duration
}

// Validate returns an error for each negative duration.
func (o *RunOptions) Validate() []error {
	var errs []error
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"livez-grace-period", o.LivezGracePeriod},
		{"shutdown-delay-duration", o.ShutdownDelayDuration},
		{"shutdown-watch-termination-grace-period", o.ShutdownWatchTerminationGracePeriod},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("--%s cannot be negative", f.flag))
		}
	}
	return errs
}

// PreparedServer is the outermost server of a chain, ready to run.
type PreparedServer struct {
	*GenericAPIServer

	inFlight  *filters.WaitGroup
	bodies    filters.Bodies
	started   atomic.Int64 // Unix nanoseconds
	stopping  atomic.Bool
	hooksDone chan struct{} // closed when the hooks have returned
	readyz    *healthz.Endpoint
}

var errStopping = errors.New("process is shutting down")

// PrepareRun makes the server the outermost of its chain. It installs the shared endpoints (health checks, the
// index, /version, /metrics, profiles), wraps the Director in the filters and releases loopback requests. Hooks
// and checks cannot be added afterwards. It panics if it is called twice.
func (s *GenericAPIServer) PrepareRun() *PreparedServer {
	p := s.prepare()
	p.installHealth()
	s.installIndex()
	s.installVersion()
	s.installMetrics()
	s.installChain()
	s.installProfiling()
	s.installLogs()
	p.installZPages()
	s.installFlowControl()
	s.installOpenAPI()

	c := &s.config
	authn := c.Authentication
	if authn == nil {
		authn = authentication.Anonymous()
	}
	chain := c.Options
	chain.Authentication = authentication.UnionFailFirst(authentication.Loopback(string(uuid.NewUUID())), authn)
	chain.InFlight, chain.Terminating, chain.Bodies = p.inFlight, s.terminating, &p.bodies
	s.filters = chain
	s.Handler.FullHandlerChain = filters.Chain(s.Handler.Director, chain)
	c.loopback.serve(s.Handler.FullHandlerChain, c.Metrics.Clients)
	return p
}

// PrepareNested makes the server the outermost of a chain that another chain's filters serve: it has no filters and
// no listener, and none of the endpoints of the process. Its loopback client must call it through the other chain. The
// caller ends requests before it ends Run.
func (s *GenericAPIServer) PrepareNested() *PreparedServer {
	p := s.prepare()
	p.installHealth()
	s.installIndex()
	s.installVersion()
	s.installOpenAPI()
	return p
}

// prepare returns the outermost server of a chain, without endpoints. It panics if it is called twice.
func (s *GenericAPIServer) prepare() *PreparedServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared {
		panic("PrepareRun was called twice")
	}
	s.prepared = true
	return &PreparedServer{GenericAPIServer: s, inFlight: new(filters.WaitGroup), hooksDone: make(chan struct{})}
}

// Run serves until ctx is done, then shuts down gracefully (see the package comment). It returns nil after a
// regular shutdown, otherwise the failure of a listener or a hook. It must be called once.
func (p *PreparedServer) Run(ctx context.Context) error {
	p.started.Store(time.Now().UnixNano())
	failed := make(chan error, 1)
	fail := func(err error) {
		select {
		case failed <- err:
		default:
		}
	}

	if path := p.config.DebugSocketPath; path != "" {
		stop, err := serveDebugSocket(path)
		if err != nil {
			p.End()
			return err
		}
		defer stop()
	}
	var listening *secureserving.Server
	if p.config.Serving != nil {
		var err error
		if listening, err = p.config.Serving.Serve(p.Handler.FullHandlerChain, p.config.Metrics,
			p.config.RequestTimeout+filters.WriteGrace, fail); err != nil {
			p.End()
			return err
		}
	}
	p.startHooks(fail)

	var result error
	select {
	case <-ctx.Done():
	case result = <-failed:
		klog.ErrorS(result, "Stopping server after a failure")
	}
	return utilerrors.NewAggregate([]error{result, p.shutdown(listening)})
}

func (p *PreparedServer) shutdown(listening *secureserving.Server) error {
	p.stopping.Store(true)
	hooks := p.runPreShutdownHooks()
	if d := p.config.ShutdownDelayDuration; d > 0 {
		time.Sleep(d)
	}
	err := <-hooks

	for _, s := range p.chain() {
		s.terminate()
	}
	p.bodies.Expire()
	limit := max(p.config.RequestTimeout, p.config.ShutdownWatchTerminationGracePeriod)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if p.config.ShutdownSendRetryAfter {
		p.drain(ctx) // while new requests get 429
	}
	if listening != nil {
		listening.Shutdown(ctx)
	}
	p.drain(ctx)
	p.End()
	return err
}

// runPreShutdownHooks runs the hooks concurrently. The channel receives their errors when all have returned.
func (p *PreparedServer) runPreShutdownHooks() <-chan error {
	hooks := p.PreShutdownHooks()
	errs := make([]error, len(hooks))
	var all worker.Group
	for i, h := range hooks {
		all.Go(func() { errs[i] = h.run() })
	}
	done := make(chan error, 1)
	worker.Go(func() {
		all.Wait()
		done <- utilerrors.NewAggregate(errs)
	})
	return done
}

// auditFlush bounds the flush of the last audit events during shutdown.
const auditFlush = time.Minute

// End stops the goroutines of all servers of the chain, and flushes the audit events of their last requests.
// Run calls it; a chain that is not run needs it.
func (p *PreparedServer) End() {
	servers := p.chain()
	for _, s := range servers {
		s.terminate()
		s.life.cancel()
	}
	for _, s := range servers {
		s.life.stop()
	}
	if p.config.Audit != nil {
		ctx, cancel := context.WithTimeout(context.Background(), auditFlush)
		defer cancel()
		p.config.Audit.Close(ctx)
	}
}

func (s *GenericAPIServer) terminate() { s.terminateOnce.Do(func() { close(s.terminating) }) }

// ServeHTTP serves a request through the filters, without a listener.
func (p *PreparedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Handler.ServeHTTP(w, r)
}

// drain waits for the requests in flight.
func (p *PreparedServer) drain(ctx context.Context) {
	if err := p.inFlight.Wait(ctx); err != nil {
		klog.InfoS("Stopped waiting for requests in flight", "err", fmt.Sprint(err))
	}
}
