package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/observed"
	"triplane.dev/internal/worker"
)

// Object is a stored object, or its deletion.
type Object struct {
	Resource        schema.GroupResource
	Namespace, Name string
	Key             string
	// Value is the stored value, decrypted; nil for a deletion.
	Value    []byte
	Revision int64
}

// Deleted reports whether the object was deleted.
func (o *Object) Deleted() bool { return o.Value == nil }

// Handler receives the objects of a resource: those that exist, and then each change. It may be called for an
// unchanged object, and of several changes it may receive only the last. Handlers are called one at a time, and
// must not block.
type Handler func(o *Object)

// Listed is called after handlers have received all objects of a resource as of a revision. present reports
// whether a key was among them. It is called like handlers.
type Listed func(resource schema.GroupResource, revision int64, present func(key string) bool)

// Feed follows the stored objects of a server. Handlers must be registered before Run.
type Feed struct {
	taps    func() []*cache.Tap
	routes  *routes
	groups  *Resources
	exact   map[schema.GroupResource][]Handler
	all     []Handler
	listed  []Listed
	gone    []Handler
	ignored map[schema.GroupResource]bool

	synced   chan struct{}
	reported map[schema.GroupResource]bool // logged failures of followResources

	mu   sync.Mutex // held while handlers are called
	seen map[schema.GroupResource]int64
}

// NewFeed returns a feed of the multiplexers' changes. resources lists the resources to follow.
func NewFeed(multiplexers []*cache.Multiplexer, resources *Resources) *Feed {
	return &Feed{
		taps: func() []*cache.Tap {
			taps := make([]*cache.Tap, len(multiplexers))
			for i, m := range multiplexers {
				taps[i] = m.Tap()
			}
			return taps
		},
		routes: newRoutes(resources), groups: resources,
		exact: map[schema.GroupResource][]Handler{},
		ignored: map[schema.GroupResource]bool{{Resource: "events"}: true,
			{Group: "events.k8s.io", Resource: "events"}: true},
		synced: make(chan struct{}), reported: map[schema.GroupResource]bool{}, seen: map[schema.GroupResource]int64{},
	}
}

// On registers h for the objects of a resource.
func (f *Feed) On(resource schema.GroupResource, h Handler) {
	f.exact[resource] = append(f.exact[resource], h)
}

// OnAll registers h for the objects of all resources but events.
func (f *Feed) OnAll(h Handler) { f.all = append(f.all, h) }

// OnListed registers l, which is called whenever all objects of a resource have been read. Handlers with state use
// it to find missed deletions.
func (f *Feed) OnListed(l Listed) { f.listed = append(f.listed, l) }

// OnDeletion registers h for each deletion, of any resource but events.
func (f *Feed) OnDeletion(h Handler) { f.gone = append(f.gone, h) }

// Synced returns a channel that is closed when handlers have received all objects that existed at the start.
func (f *Feed) Synced() <-chan struct{} { return f.synced }

// Run calls handlers until ctx is done.
func (f *Feed) Run(ctx context.Context) {
	taps := f.taps()
	var running worker.Group
	defer running.Wait()
	for _, tap := range taps {
		defer tap.Stop()
		running.Go(func() { f.follow(ctx, tap) })
	}
	f.followResources(ctx)
}

// follow calls handlers for the changes of a multiplexer.
func (f *Feed) follow(ctx context.Context, tap *cache.Tap) {
	for {
		changes, lost, err := tap.Next(ctx)
		if err != nil {
			return
		}
		if lost {
			f.readAgain(ctx)
		}
		f.mu.Lock()
		for i := range changes {
			f.change(&changes[i])
		}
		f.mu.Unlock()
	}
}

// change calls handlers for a change. The caller holds f.mu.
func (f *Feed) change(c *storage.Change) {
	resource, rest, ok := f.routes.find(c.Key)
	if !ok || f.ignored[resource] || c.Revision <= f.seen[resource] {
		return
	}
	if c.Deleted() {
		o := newObject(resource, c.Key, rest, nil, c.Revision)
		for _, h := range f.gone {
			h(o)
		}
		f.dispatch(o)
		return
	}
	if !f.wanted(resource) {
		return
	}
	decoded := *c
	if err := f.routes.decode(resource, &decoded); err != nil {
		klog.V(2).InfoS("Failed to decode a change of storage", "key", c.Key, "err", err)
		return
	}
	f.dispatch(newObject(resource, c.Key, rest, decoded.Value, c.Revision))
}

func (f *Feed) wanted(resource schema.GroupResource) bool {
	if f.ignored[resource] {
		return false
	}
	return len(f.all) > 0 || len(f.exact[resource]) > 0
}

func (f *Feed) dispatch(o *Object) {
	for _, h := range f.exact[o.Resource] {
		h(o)
	}
	for _, h := range f.all {
		h(o)
	}
}

const (
	// retryEvery is the retry interval for a resource that cannot be read.
	retryEvery = 2 * time.Second
	// retryParts is the retry interval for a resource with objects that cannot be decrypted: they may be lost, or
	// a key may be restored.
	retryParts = time.Minute
)

// followResources reads the objects of each resource when it is first served.
func (f *Feed) followResources(ctx context.Context) {
	changes := f.groups.Subscribe()
	defer changes.Stop()
	known, unread, partly := map[schema.GroupResource]bool{}, map[schema.GroupResource]bool{},
		map[schema.GroupResource]bool{}
	synced := false
	for {
		wait, done := ctx, context.CancelFunc(func() {})
		if len(unread) > 0 {
			wait, done = context.WithTimeout(ctx, retryEvery)
		} else if len(partly) > 0 {
			wait, done = context.WithTimeout(ctx, retryParts)
			maps.Copy(unread, partly)
		}
		_, err := changes.Next(wait)
		done()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			f.groups.Refresh()
			f.compare(known, unread)
		}
		f.readAll(ctx, unread, partly)
		if len(unread) == 0 && !synced {
			synced = true
			close(f.synced)
		}
	}
}

// compare adds newly served resources to known and unread, and removes resources that are no longer served, so
// that they are re-read if they are served later.
func (f *Feed) compare(known, unread map[schema.GroupResource]bool) {
	local := f.groups.Local()
	served := make(map[schema.GroupResource]bool, len(local))
	for _, r := range local {
		gr := r.GroupResource()
		served[gr] = true
		if !known[gr] {
			known[gr], unread[gr] = true, true
		}
	}
	if len(known) == len(served) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for gr := range known {
		if !served[gr] {
			delete(known, gr)
			delete(unread, gr)
			delete(f.reported, gr)
			delete(f.seen, gr)
		}
	}
	f.routes.keep(served)
}

// readAll reads the resources in unread, and removes those that succeeded. It moves those with unreadable objects
// to partly.
func (f *Feed) readAll(ctx context.Context, unread, partly map[schema.GroupResource]bool) {
	for gr := range unread {
		err := f.read(ctx, gr)
		if ctx.Err() != nil {
			return
		}
		delete(partly, gr)
		if errors.As(err, new(*unreadError)) {
			partly[gr] = true
		}
		if err == nil || partly[gr] {
			delete(unread, gr)
		}
		if err == nil {
			delete(f.reported, gr)
		} else if !f.reported[gr] {
			f.reported[gr] = true
			klog.ErrorS(err, "Failed to read the objects of a resource, will retry", "resource", gr.String())
		}
	}
}

// readAgain reads the objects of all resources, after changes may have been missed.
func (f *Feed) readAgain(ctx context.Context) {
	for _, r := range f.groups.Local() {
		for ctx.Err() == nil {
			err := f.read(ctx, r.GroupResource())
			if err == nil || errors.As(err, new(*unreadError)) {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryEvery):
			}
		}
	}
}

// page is the limit of a range request.
const page = 10_000

// read calls handlers for the objects of a resource, if it has handlers. It returns an *unreadError if some
// objects could not be read.
func (f *Feed) read(ctx context.Context, resource schema.GroupResource) error {
	backend, prefix := f.routes.storage(resource)
	if backend == nil || !f.wanted(resource) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var present map[string]struct{}
	if len(f.listed) > 0 {
		present = map[string]struct{}{}
	}
	var unread []error
	opts := storage.RangeOptions{Prefix: prefix, Limit: page}
	for {
		result, err := backend.Range(observed.Sweep(ctx), opts)
		if err != nil {
			return err
		}
		for i := range result.Items {
			kv := &result.Items[i]
			if present != nil {
				present[kv.Key] = struct{}{}
			}
			if kv.Err != nil {
				unread = append(unread, kv.Err)
				continue
			}
			f.dispatch(newObject(resource, kv.Key, kv.Key[len(prefix):], kv.Value, kv.Revision))
		}
		opts.Revision = result.Revision
		if !result.More || len(result.Items) == 0 {
			break
		}
		opts.After = result.Items[len(result.Items)-1].Key
	}
	f.seen[resource] = max(f.seen[resource], opts.Revision)
	for _, listed := range f.listed {
		listed(resource, opts.Revision, func(key string) bool { _, ok := present[key]; return ok })
	}
	if len(unread) > 0 {
		return &unreadError{len(unread), unread[0]}
	}
	return nil
}

// unreadError means that some objects of a resource cannot be decrypted. Handlers have received all others.
type unreadError struct {
	count int
	first error
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("%d objects are omitted: %v", e.count, e.first)
}
