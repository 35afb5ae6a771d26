package informers

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/follow"
)

// Informer is an informer of one resource. Handlers are called in order, never concurrently, and must not block.
// It is safe for concurrent use.
type Informer struct {
	source  func() follow.Source
	indexer cache.Indexer
	synced  chan struct{} // closed when the handlers have received all objects of the start

	mu        sync.Mutex // held while handlers are called
	ctx       context.Context
	following *follow.Follower // nil before Start, and without a source
	prefix    string
	decode    func(*storage.Record) (runtime.Object, error)
	transform cache.TransformFunc
	handlers  []*registration
	revision  int64
}

var _ cache.SharedIndexInformer = (*Informer)(nil)

// New returns an informer. source is called when it starts; an informer whose source is nil has no objects and never
// syncs.
func New(source func() follow.Source) *Informer {
	return &Informer{source: source, synced: make(chan struct{}),
		indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// Start follows the resource until ctx is done. It returns at once; later calls have no effect.
func (i *Informer) Start(ctx context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx != nil {
		return
	}
	i.ctx = ctx
	source := i.source()
	if source == nil {
		return
	}
	i.prefix, i.decode = source.KeyPrefix(), source.DecodeShared
	i.following = follow.Start(ctx, source.Cache(), (*events)(i))
}

// Wait returns when no handler is called any more. The context of Start must be done.
func (i *Informer) Wait() {
	i.mu.Lock()
	following := i.following
	i.mu.Unlock()
	if following != nil {
		following.Wait()
	}
}

// RunWithContext starts the informer and returns when it has ended with ctx.
func (i *Informer) RunWithContext(ctx context.Context) {
	i.Start(ctx)
	<-ctx.Done()
	i.Wait()
}

// GetIndexer returns the objects. Callers must not change them.
func (i *Informer) GetIndexer() cache.Indexer { return i.indexer }

// AddIndexers adds indexers; it returns an error after the start.
func (i *Informer) AddIndexers(indexers cache.Indexers) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx != nil {
		return errStarted
	}
	return i.indexer.AddIndexers(indexers)
}

// SetTransform sets the function that trims objects before they are stored; it returns an error after the start.
func (i *Informer) SetTransform(f cache.TransformFunc) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx != nil {
		return errStarted
	}
	i.transform = f
	return nil
}

var errStarted = errors.New("the informer has already started")

// HasSynced reports whether handlers have received all objects that existed at the start.
func (i *Informer) HasSynced() bool {
	select {
	case <-i.synced:
		return true
	default:
		return false
	}
}

// HasSyncedChecker is done when HasSynced returns true.
func (i *Informer) HasSyncedChecker() cache.DoneChecker { return (*syncing)(i) }

// LastSyncResourceVersion returns the resource version of the last event, "" before the first one.
func (i *Informer) LastSyncResourceVersion() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return formatRevision(i.revision)
}

// IsStopped reports whether the context of the start is done.
func (i *Informer) IsStopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ctx != nil && i.ctx.Err() != nil
}

// syncing is the DoneChecker of an informer.
type syncing Informer

// Name implements cache.DoneChecker.
func (s *syncing) Name() string { return "Informer" }

// Done implements cache.DoneChecker.
func (s *syncing) Done() <-chan struct{} { return s.synced }

// registration is a handler of an informer.
type registration struct {
	*syncing
	handler cache.ResourceEventHandler
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return (*Informer)(r.syncing).HasSynced() }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() cache.DoneChecker { return r.syncing }

// AddEventHandler adds a handler, which receives the present objects first. It must not be called by a handler.
func (i *Informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := &registration{(*syncing)(i), h}
	i.handlers = append(i.handlers, r)
	for _, obj := range i.indexer.List() {
		h.OnAdd(obj, true)
	}
	return r, nil
}

// AddEventHandlerWithOptions is AddEventHandler; there is no resync, so options have no effect.
func (i *Informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	_ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// AddEventHandlerWithResyncPeriod is AddEventHandler; an informer that never misses an event needs no resync.
func (i *Informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	_ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}
