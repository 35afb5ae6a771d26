package encryption

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

// Options configure the Providers.
type Options struct {
	// File is the path of an EncryptionConfiguration. With "" nothing is encrypted.
	File string
	// Reload makes Run reload the file when it changes.
	Reload bool
	// KMSv1 allows plugins of KMS v1.
	KMSv1 bool
	// ServerID is the identity of the server. Metrics have its hash as a label.
	ServerID string
}

const (
	// reloadInterval is how often the file is read.
	reloadInterval = 10 * time.Second
	// checkTimeout limits a health check.
	checkTimeout = 10 * time.Second
	// retireAfter is how long the plugins of a replaced configuration stay open, for operations in progress.
	retireAfter = time.Minute
)

// Providers encrypt and decrypt values by a configuration that can be reloaded. They are safe for concurrent
// use.
type Providers struct {
	opts    Options
	metrics *Metrics
	every   time.Duration // interval of reloads
	current atomic.Pointer[rules]

	mu      sync.Mutex
	data    []byte // last content of the file
	retired []retired
	closed  bool
}

type retired struct {
	rules *rules
	at    time.Time
}

// New reads the configuration. Plugins need not be available yet. Close must be called.
func New(opts Options) (*Providers, error) {
	p := &Providers{opts: opts, metrics: newMetrics(opts.ServerID), every: reloadInterval}
	if opts.File == "" {
		p.current.Store(&rules{})
		return p, nil
	}
	data, err := readFile(opts.File)
	if err != nil {
		return nil, err
	}
	r, err := newRules(data, p.opts.KMSv1, p.metrics)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.File, err)
	}
	r.start()
	p.data = data
	p.current.Store(r)
	p.metrics.configured(r.hash)
	return p, nil
}

// Metrics returns the metrics, which must be registered if there is a configuration.
func (p *Providers) Metrics() *Metrics { return p.metrics }

// View returns a view of the backend for one resource. It must only be used with keys of this resource.
func (p *Providers) View(backend storage.Backend, resource schema.GroupResource) *View {
	return &View{Backend: backend, providers: p, resource: resource, name: resource.String()}
}

// Run reloads the file when it changes, until ctx ends. Without Reload it returns at once.
func (p *Providers) Run(ctx context.Context) {
	if p.opts.File == "" || !p.opts.Reload {
		return
	}
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := p.reload(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to reload encryption provider configuration, keeping the previous one", "file", p.opts.File)
		}
		p.sweep(time.Now().Add(-retireAfter))
	}
}

// reload applies the file if it has changed and its plugins are healthy. An invalid file is retried after it
// changes, one with unhealthy plugins on each call.
func (p *Providers) reload(ctx context.Context) error {
	data, err := readFile(p.opts.File)
	if err != nil {
		p.metrics.reloaded(err, "")
		return err
	}
	p.mu.Lock()
	same := bytes.Equal(data, p.data)
	p.data = data
	p.mu.Unlock()
	if same {
		return nil
	}
	r, err := newRules(data, p.opts.KMSv1, p.metrics)
	if err == nil {
		if err = r.check(ctx); err != nil {
			r.close()
			p.mu.Lock()
			p.data = nil
			p.mu.Unlock()
		}
	}
	if err != nil {
		p.metrics.reloaded(err, "")
		return err
	}
	p.replace(r)
	p.metrics.reloaded(nil, r.hash)
	klog.InfoS("Reloaded encryption provider configuration", "file", p.opts.File, "hash", r.hash)
	return nil
}

func (p *Providers) replace(r *rules) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		r.close()
		return
	}
	r.start()
	p.retired = append(p.retired, retired{p.current.Swap(r), time.Now()})
}

// sweep closes configurations that were replaced before a time.
func (p *Providers) sweep(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.retired) > 0 && p.retired[0].at.Before(before) {
		p.retired[0].rules.close()
		p.retired = p.retired[1:]
	}
}

// Close closes all plugins. Their calls in progress fail.
func (p *Providers) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sweep(time.Now().Add(time.Hour))
	p.current.Load().close()
}

// Check is a named health check.
type Check struct {
	Name  string
	Check func() error
}

// Checks returns the health check of all plugins, or nil if there are no plugins and no reload can add one. It
// must not be part of /livez: restarting the server does not repair a plugin.
func (p *Providers) Checks() []Check {
	if (!p.opts.Reload || p.opts.File == "") && len(p.current.Load().plugins) == 0 {
		return nil
	}
	return []Check{{"kms-providers", func() error { return bounded(p.current.Load().check) }}}
}

func bounded(check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	return check(ctx)
}
