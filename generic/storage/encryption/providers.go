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

	"triplane/generic/storage"
)

// Options say where the configuration is.
type Options struct {
	// File is an EncryptionConfiguration; without one everything is stored as
	// it is.
	File string
	// Reload has Run put changes of the file to work.
	Reload bool
	// KMSv1 allows plugins of that version.
	KMSv1 bool
	// ServerID is the identity of the server, whose hash metrics have as a label.
	ServerID string
}

const (
	// reloadEvery is how often the file is read.
	reloadEvery = 10 * time.Second
	// checkTimeout bounds a health check.
	checkTimeout = 10 * time.Second
	// retireAfter is when what a replaced configuration runs is closed: what has
	// begun with it has ended then.
	retireAfter = time.Minute
)

// Providers convert between what is read and what is stored, as a configuration
// says that may be replaced meanwhile. It is safe for concurrent use.
type Providers struct {
	opts    Options
	metrics *Metrics
	every   time.Duration // between two looks at the file
	current atomic.Pointer[rules]

	mu      sync.Mutex
	data    []byte // of the file, as it was last looked at
	retired []retired
	closed  bool
}

type retired struct {
	rules *rules
	at    time.Time
}

// New reads the configuration. Plugins need not be up yet. Close frees what the
// providers run.
func New(opts Options) (*Providers, error) {
	p := &Providers{opts: opts, metrics: newMetrics(opts.ServerID), every: reloadEvery}
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

// Metrics are to be registered where there is a configuration.
func (p *Providers) Metrics() *Metrics { return p.metrics }

// View returns the backend as it is for one resource. Each resource has one, and
// its keys are used with no other.
func (p *Providers) View(backend storage.Backend, resource schema.GroupResource) *View {
	return &View{Backend: backend, providers: p, resource: resource, name: resource.String()}
}

// Run follows the file until ctx ends; without Reload there is nothing to do.
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
			klog.ErrorS(err, "The changed encryption provider configuration is not used", "file", p.opts.File)
		}
		p.sweep(time.Now().Add(-retireAfter))
	}
}

// reload puts the file to work if it has changed and its plugins are healthy. A
// file that is refused is tried again when it changes, and one whose plugins are
// not healthy each time.
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
	klog.InfoS("The encryption provider configuration was loaded again", "file", p.opts.File, "hash", r.hash)
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

// sweep closes what was replaced before a time.
func (p *Providers) sweep(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.retired) > 0 && p.retired[0].at.Before(before) {
		p.retired[0].rules.close()
		p.retired = p.retired[1:]
	}
}

// Close ends what the providers run; calls of plugins under way fail.
func (p *Providers) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sweep(time.Now().Add(time.Hour))
	p.current.Load().close()
}

// Check is a health check by its name.
type Check struct {
	Name  string
	Check func() error
}

// Checks has the health check of all plugins, and nothing where there are none and none can come. It is not for
// /livez: a restart does not bring a plugin back.
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
