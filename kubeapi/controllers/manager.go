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

	"triplane/generic/api/discovery"
	"triplane/generic/api/registry"
	"triplane/generic/guard/authentication/serviceaccount"
	"triplane/generic/storage/cache"
	"triplane/internal/worker"
	"triplane/kubeapi/controllers/certificates"
	"triplane/kubeapi/controllers/control"
	"triplane/kubeapi/group"
)

// Options are what the flags say of controllers.
type Options struct {
	// Selection is --controllers.
	Selection []string
	// RootCA is the authority of the server's certificate, in PEM; nil publishes
	// none.
	RootCA []byte
	// TokenSigner signs the tokens of Secrets; nil fills none.
	TokenSigner serviceaccount.Signer
	// LegacyTokenCleanUpPeriod is for how long an automatic Secret's token may be
	// without use.
	LegacyTokenCleanUpPeriod time.Duration
	// SigningAuthority returns what certificates are signed with; nil signs none.
	SigningAuthority func() (*certificates.Authority, error)
	// TerminatedPods is how many pods that have ended are kept; 0 keeps all.
	TerminatedPods int
}

// Config is what a Manager is made from.
type Config struct {
	Options
	// Stores, and the storage of all resources, are the server's.
	Stores       *group.Stores
	Storages     registry.RESTOptionsGetter
	Multiplexers []*cache.Multiplexer
	// Public lists what the server serves; Local reports which versions of it this
	// process keeps, rather than a server behind an APIService.
	Public *discovery.Groups
	Local  func(schema.GroupVersion) bool
	Scheme *runtime.Scheme
	// Loopback is privileged; controllers use it as their service accounts.
	Loopback *restclient.Config
	// Elect has the replicas agree on one of them whose controllers work. ID names
	// this replica.
	Elect bool
	ID    string
	// Queues measures the work queues.
	Queues workqueue.MetricsProvider
}

// Manager runs the selected controllers while this replica leads.
type Manager struct {
	config    Config
	resources *control.Resources
	metrics   *control.Metrics

	failure atomic.Pointer[error] // why controllers that should work do not
	stop    context.CancelCauseFunc
	ctx     context.Context
	ended   chan struct{}
	begun   atomic.Bool
}

// New makes a manager. Its metrics are to be registered.
func New(c Config) (*Manager, error) {
	resources, err := control.NewResources(c.Public, c.Local, c.Stores, c.Storages)
	if err != nil {
		return nil, err
	}
	m := &Manager{config: c, resources: resources, metrics: control.NewMetrics(c.Queues), ended: make(chan struct{})}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	return m, nil
}

// Metrics are those of the controllers.
func (m *Manager) Metrics() prometheus.Collector { return m.metrics }

// Check reports why controllers that should work do not. That they wait for another
// replica's, or for a kube-controller-manager, is no failure.
func (m *Manager) Check() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// set notes why controllers that should work do not; nil where they do, or need not.
func (m *Manager) set(err error) { m.failure.Store(&err) }

var errStopped = errors.New("the server stops")

// Stop ends the controllers and returns when nothing of them runs any more.
func (m *Manager) Stop() error {
	m.stop(errStopped)
	if m.begun.Load() {
		<-m.ended
	}
	return nil
}

// Run has the controllers work, once ready is closed, until ctx ends or Stop is
// called. It may be called once.
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
	for ctx.Err() == nil {
		m.stepAside(ctx, func(ctx context.Context) {
			if m.config.Elect {
				m.elect(ctx, m.work)
				return
			}
			m.work(ctx)
		})
	}
}

// work runs all selected controllers until ctx ends.
func (m *Manager) work(ctx context.Context) {
	env := m.environment()
	defer env.Close()
	var names []string
	var runs []run
	var failures []error
	for _, c := range table() {
		if !selected(m.config.Selection, c.name) {
			continue
		}
		r, err := c.make(env, &m.config.Options)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", c.name, err))
			klog.ErrorS(err, "A controller cannot be made", "controller", c.name)
			continue
		}
		if r == nil {
			klog.V(2).InfoS("A controller has nothing to work with", "controller", c.name)
			continue
		}
		names, runs = append(names, c.name), append(runs, r)
	}
	m.metrics.Leading(true)
	defer m.metrics.Leading(false)
	m.set(errors.Join(failures...))
	klog.InfoS("Controllers begin", "controllers", names)
	var running worker.Group
	running.Go(func() { env.Feed.Run(ctx) })
	for i, r := range runs {
		running.Go(func() {
			m.metrics.Running(names[i], true)
			defer m.metrics.Running(names[i], false)
			r(ctx)
		})
	}
	running.Wait()
	klog.InfoS("Controllers have ended")
}

func (m *Manager) environment() *control.Env {
	c := &m.config
	return control.NewEnv(c.Stores, control.NewFeed(c.Multiplexers, m.resources), m.resources, m.metrics, c.Scheme, c.Loopback)
}
