package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Value is the stored value, decrypted; nil for a deletion. It is valid until the handler returns.
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

// Feed follows the stored objects of a server. Handlers must be registered before Start. It has no goroutine while
// nothing changes.
type Feed struct {
	multiplexers []*cache.Multiplexer
	routes       *routes
	groups       *Resources
	exact        map[schema.GroupResource][]Handler
	all          []Handler
	listed       []Listed
	gone         []Handler
	ignored      map[schema.GroupResource]bool

	reading *reading
	taps    []*worker.Demand
	ended   chan struct{} // closed after the context of Start is done
	synced  chan struct{}

	mu   sync.Mutex // held while handlers are called
	seen map[schema.GroupResource]int64
}

// NewFeed returns a feed of the multiplexers' changes. resources lists the resources to follow.
func NewFeed(multiplexers []*cache.Multiplexer, resources *Resources) *Feed {
	return &Feed{
		multiplexers: multiplexers, routes: newRoutes(resources), groups: resources,
		exact: map[schema.GroupResource][]Handler{},
		ignored: map[schema.GroupResource]bool{{Resource: "events"}: true,
			{Group: "events.k8s.io", Resource: "events"}: true},
		ended: make(chan struct{}), synced: make(chan struct{}), seen: map[schema.GroupResource]int64{},
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

// Start implements Runner: it calls handlers until ctx is done.
func (f *Feed) Start(ctx context.Context) {
	var taps []*cache.Tap
	for _, m := range f.multiplexers {
		var tap *cache.Tap
		created := make(chan struct{})
		work := worker.NewDemand(func() {
			<-created
			f.follow(ctx, tap)
		})
		tap = m.Tap(work.Request)
		close(created)
		taps, f.taps = append(taps, tap), append(f.taps, work)
	}
	f.reading = newReading(ctx, f)
	context.AfterFunc(ctx, func() {
		for _, tap := range taps {
			tap.Stop()
		}
		close(f.ended)
	})
}

// Wait implements Runner.
func (f *Feed) Wait() {
	<-f.ended
	f.reading.wait()
	for _, work := range f.taps {
		work.Wait()
	}
}

// follow calls handlers for the changes of a multiplexer.
func (f *Feed) follow(ctx context.Context, tap *cache.Tap) {
	changes, lost := tap.Take()
	if ctx.Err() != nil {
		return
	}
	if lost {
		f.readAgain(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range changes {
		f.change(&changes[i])
	}
}

// change calls handlers for a change. The caller holds f.mu.
func (f *Feed) change(c *storage.Change) {
	resource, rest, ok := f.routes.find(c.Key)
	if !ok || f.ignored[resource] || c.Revision <= f.seen[resource] {
		return
	}
	decoded := *c
	if !c.Deleted() {
		if !f.wanted(resource) {
			return
		}
		if err := f.routes.decode(resource, &decoded); err != nil {
			klog.V(2).InfoS("Failed to decode a change of storage", "key", c.Key, "err", err)
			return
		}
	}
	o := newObject(resource, c.Key, rest, decoded.Value, c.Revision)
	if o.Deleted() {
		for _, h := range f.gone {
			h(o)
		}
	}
	f.dispatch(o)
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

// readAgain reads the objects of all resources, after changes may have been missed.
func (f *Feed) readAgain(ctx context.Context) {
	all := f.few(ctx)
	for _, r := range f.groups.Local() {
		for ctx.Err() == nil {
			err := f.read(ctx, r.GroupResource(), all)
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

// read calls handlers for the objects of a resource, if it has handlers. It returns an *unreadError if some
// objects could not be read. all are the keys of all resources, nil if they are not known.
func (f *Feed) read(ctx context.Context, resource schema.GroupResource, all *keys) error {
	if !f.wanted(resource) {
		return nil
	}
	stored := f.routes.storage(resource)
	if stored.backend == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !stored.defaults && all.lack(stored.prefix) {
		f.hasRead(resource, all.revision, func(string) bool { return false })
		return nil
	}
	if c := f.filled(stored.prefix); c != nil {
		if list, err := c.List(ctx, storage.ListOptions{Prefix: stored.prefix, Freshness: anyRevision}); err == nil {
			f.readCached(resource, stored.prefix, &list)
			return nil
		}
	}
	prefix := stored.prefix
	var present map[string]struct{}
	if len(f.listed) > 0 {
		present = map[string]struct{}{}
	}
	var unread []error
	var revision int64
	for result, err := range storage.Pages(observed.Sweep(ctx), stored.backend, storage.RangeOptions{Prefix: prefix}) {
		if err != nil {
			return err
		}
		revision = result.Revision
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
	}
	f.hasRead(resource, revision, func(key string) bool { _, ok := present[key]; return ok })
	if len(unread) > 0 {
		return &unreadError{len(unread), unread[0]}
	}
	return nil
}

// anyRevision is what a cache has: changes after it are received from the multiplexers.
var anyRevision = storage.Freshness{Match: storage.Any}

// filled returns the cache of a prefix if it has all records, and otherwise nil.
func (f *Feed) filled(prefix string) *cache.Cache {
	for _, m := range f.multiplexers {
		if c := m.Filled(prefix); c != nil {
			return c
		}
	}
	return nil
}

// readCached calls handlers for the objects of a resource that a cache has. The caller holds f.mu.
func (f *Feed) readCached(resource schema.GroupResource, prefix string, list *storage.List) {
	var buffer []byte
	for _, r := range list.Records {
		f.dispatch(newObject(resource, r.Key, r.Key[len(prefix):], r.ValueIn(&buffer), r.Revision))
	}
	f.hasRead(resource, list.Revision, func(key string) bool {
		_, ok := slices.BinarySearchFunc(list.Records, key, func(r *storage.Record, key string) int {
			return strings.Compare(r.Key, key)
		})
		return ok
	})
}

// hasRead records that handlers have received all objects of a resource, whose keys are present, as of a revision. The
// caller holds f.mu.
func (f *Feed) hasRead(resource schema.GroupResource, revision int64, present func(key string) bool) {
	f.seen[resource] = max(f.seen[resource], revision)
	for _, listed := range f.listed {
		listed(resource, revision, present)
	}
}

// maxFew is how many keys of all resources are read at once.
const maxFew = 100

// keys are those of all resources at a revision.
type keys struct {
	sorted   []string
	revision int64
}

// few reads the keys of all resources, so that those without objects, nearly all of a small server, need not be read
// one by one. It returns nil if there are many keys, or several stores.
func (f *Feed) few(ctx context.Context) *keys {
	if len(f.multiplexers) != 1 {
		return nil
	}
	result, err := f.multiplexers[0].First(ctx, maxFew)
	if err != nil || result.More {
		return nil // the resources are read one by one, and report an error
	}
	k := &keys{revision: result.Revision}
	for i := range result.Items {
		k.sorted = append(k.sorted, result.Items[i].Key)
	}
	return k
}

// lack reports whether there is no key with a prefix. Nil may have all.
func (k *keys) lack(prefix string) bool {
	if k == nil {
		return false
	}
	i, _ := slices.BinarySearch(k.sorted, prefix)
	return i == len(k.sorted) || !strings.HasPrefix(k.sorted[i], prefix)
}

// unreadError means that some objects of a resource cannot be decrypted. Handlers have received all others.
type unreadError struct {
	count int
	first error
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("%d objects are omitted: %v", e.count, e.first)
}
