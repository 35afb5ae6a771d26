package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/certificates"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// Options are the options of controllers.
type Options struct {
	// Selection is the value of --controllers.
	Selection []string
	// RootCA is the CA of the server's certificate in PEM; nil disables its publication.
	RootCA []byte
	// TokenIssuer signs the tokens of Secrets; nil disables the token controller.
	TokenIssuer *serviceaccount.Issuer
	// LegacyTokenCleanUpPeriod is how long a token in an automatic Secret may be unused.
	LegacyTokenCleanUpPeriod time.Duration
	// SigningAuthority returns the CA that signs certificates; nil disables signing.
	SigningAuthority func() (*certificates.Authority, error)
	// TerminatedPods is how many terminated pods are kept; 0 keeps all.
	TerminatedPods int
	// NamespaceGracePeriod is the time between the deletion of a namespace and that of its content.
	NamespaceGracePeriod time.Duration
	// SimulateWorkloads runs the controllers of workloads, without nodes.
	SimulateWorkloads bool
}

// Config is the configuration of a Manager.
type Config struct {
	Options
	// Stores and Storages are the server's, for all resources.
	Stores       *group.Stores
	Storages     registry.RESTOptionsGetter
	Multiplexers []*cache.Multiplexer
	// Public is the discovery of the server. Local reports whether this process serves a version, rather than an
	// external server.
	Public *discovery.Groups
	Local  func(schema.GroupVersion) bool
	Scheme *runtime.Scheme
	// Loopback is privileged; controllers impersonate their service accounts.
	Loopback *restclient.Config
	// Elect enables leader election between replicas. ID is the identity of this replica.
	Elect bool
	ID    string
	// Queues has the metrics of work queues.
	Queues workqueue.MetricsProvider
	// Turn returns when the controllers may start, or when its context is done. They call end when they have received all
	// objects. Nil starts them at once.
	Turn func(context.Context) (end func())
}

// Manager runs the selected controllers while this replica leads.
type Manager struct {
	config    Config
	resources *control.Resources
	metrics   *control.Metrics

	failure atomic.Pointer[error] // why controllers that should run do not
	stop    context.CancelCauseFunc
	ctx     context.Context
	ended   chan struct{}
	begun   atomic.Bool
	env     atomic.Pointer[control.Env] // of the controllers that run
	end     func()                      // of Config.Turn
}

// New returns a manager. Its metrics must be registered.
func New(c Config) (*Manager, error) {
	resources, err := control.NewResources(c.Public, c.Local, c.Stores, c.Storages)
	if err != nil {
		return nil, err
	}
	m := &Manager{config: c, resources: resources, metrics: control.NewMetrics(c.Queues), ended: make(chan struct{}),
		end: func() {}}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	return m, nil
}

// Metrics returns the metrics of the controllers.
func (m *Manager) Metrics() prometheus.Collector { return m.metrics }

// Check returns an error if controllers that should run do not. Waiting for another replica or for a
// kube-controller-manager is not an error.
func (m *Manager) Check() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Due returns when a controller has work next if no object changes before; the zero time if none has, or if they do not
// run. A nil manager has no controllers.
func (m *Manager) Due() time.Time {
	if m == nil {
		return time.Time{}
	}
	if env := m.env.Load(); env != nil {
		return env.Due()
	}
	return time.Time{}
}

// set sets the result of Check.
func (m *Manager) set(err error) { m.failure.Store(&err) }

var errStopped = errors.New("the server is stopping")

// Stop stops the controllers and returns when none of their goroutines runs.
func (m *Manager) Stop() error {
	m.stop(errStopped)
	if m.begun.Load() {
		<-m.ended
	}
	return nil
}

// Run runs the controllers after ready was closed, until ctx is done or Stop is called. It may be called once.
func (m *Manager) Run(ctx context.Context, ready <-chan struct{}) {
	m.begun.Store(true)
	defer close(m.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	select {
	case <-ready:
	case <-ctx.Done():
		return
	}
	if m.config.Turn != nil {
		m.end = m.config.Turn(ctx)
		defer m.end()
	}
	for ctx.Err() == nil {
		m.runBesideForeign(ctx, func(ctx context.Context) {
			if m.config.Elect {
				m.elect(ctx, m.work)
				return
			}
			m.work(ctx)
		})
	}
}

// work runs all selected controllers until ctx is done.
func (m *Manager) work(ctx context.Context) {
	env := m.environment()
	defer env.Close()
	m.env.Store(env)
	defer m.env.Store(nil)
	var names []string
	running := worker.Together{env.Feed}
	var failures []error
	for _, c := range table() {
		if !selected(m.config.Selection, c.name) {
			continue
		}
		r, err := c.make(env, &m.config.Options)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", c.name, err))
			klog.ErrorS(err, "Failed to create controller", "controller", c.name)
			continue
		}
		if r == nil {
			klog.V(2).InfoS("Disabled controller: its options are not set", "controller", c.name)
			continue
		}
		names, running = append(names, c.name), append(running, r)
	}
	m.metrics.Leading(true)
	defer m.metrics.Leading(false)
	m.set(errors.Join(failures...))
	klog.InfoS("Started controllers", "count", len(names))
	klog.V(2).InfoS("Names of the started controllers", "controllers", names)
	running.Start(ctx)
	m.metrics.Running(names, true)
	defer m.metrics.Running(names, false)
	select {
	case <-env.Feed.Synced():
		m.end()
	case <-ctx.Done():
	}
	<-ctx.Done()
	running.Wait()
	klog.InfoS("Stopped controllers")
}

func (m *Manager) environment() *control.Env {
	c := &m.config
	return &control.Env{Stores: c.Stores, Feed: control.NewFeed(c.Multiplexers, m.resources), Resources: m.resources,
		Metrics: m.metrics, Scheme: c.Scheme, Loopback: c.Loopback}
}
