package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/internal/worker"
)

const (
	// retryEvery is the retry interval for a resource that cannot be read.
	retryEvery = 2 * time.Second
	// retryParts is the retry interval for a resource with objects that cannot be decrypted: they may be lost, or
	// a key may be restored.
	retryParts = time.Minute
)

// reading reads the objects of each resource of a feed when it is first served.
type reading struct {
	feed   *Feed
	ctx    context.Context //nolint:containedctx // of Feed.Start
	work   *worker.Demand
	served *discovery.Following

	mu      sync.Mutex
	changed bool        // the served resources
	timer   *time.Timer // of the next retry; nil without one

	// Only the goroutine of work uses the following fields.
	known  map[schema.GroupResource]readState
	unread []schema.GroupResource
	synced bool
}

// readState is the state of a resource: read, unless something else is set.
type readState uint8

const (
	// partial resources have objects that cannot be read.
	partial readState = 1 << iota
	// reported failures are not logged again.
	reported
)

func newReading(ctx context.Context, f *Feed) *reading {
	r := &reading{feed: f, ctx: ctx, known: map[schema.GroupResource]readState{}}
	r.work = worker.NewDemand(r.step)
	r.served = f.groups.Following(r.change)
	r.served.Start(ctx)
	context.AfterFunc(ctx, func() { r.retryAfter(0) })
	return r
}

// wait returns when nothing is read any more after ctx is done.
func (r *reading) wait() {
	r.served.Wait()
	r.work.Wait()
}

func (r *reading) change(context.Context, []schema.GroupVersion) {
	r.mu.Lock()
	r.changed = true
	r.mu.Unlock()
	r.work.Request()
}

// step reads what is not read yet.
func (r *reading) step() {
	r.mu.Lock()
	changed := r.changed
	r.changed = false
	r.mu.Unlock()
	if r.ctx.Err() != nil {
		return
	}
	if changed {
		r.feed.groups.Refresh()
		r.compare()
	} else if len(r.unread) == 0 {
		r.unread = r.partlyRead()
	}
	r.readAll()
	if len(r.unread) == 0 && !r.synced && r.ctx.Err() == nil {
		r.synced = true
		close(r.feed.synced)
	}
	switch {
	case len(r.unread) > 0:
		r.retryAfter(retryEvery)
	case len(r.partlyRead()) > 0:
		r.retryAfter(retryParts)
	default:
		r.retryAfter(0)
	}
}

// retryAfter sets the time of the next retry; 0 is none.
func (r *reading) retryAfter(delay time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if delay > 0 && r.ctx.Err() == nil {
		r.timer = time.AfterFunc(delay, r.work.Request)
	}
}

// partlyRead returns the resources with objects that cannot be read.
func (r *reading) partlyRead() []schema.GroupResource {
	var out []schema.GroupResource
	for gr, state := range r.known {
		if state&partial != 0 {
			out = append(out, gr)
		}
	}
	return out
}

// compare adds newly served resources to known and unread, and removes resources that are no longer served, so
// that they are re-read if they are served later.
func (r *reading) compare() {
	local := r.feed.groups.Local()
	served := make(map[schema.GroupResource]bool, len(local))
	for i := range local {
		gr := local[i].GroupResource()
		served[gr] = true
		if _, known := r.known[gr]; !known {
			r.known[gr] = 0
			r.unread = append(r.unread, gr)
		}
	}
	if len(r.known) == len(served) {
		return
	}
	gone := func(gr schema.GroupResource) bool { return !served[gr] }
	r.unread = slices.DeleteFunc(r.unread, gone)
	maps.DeleteFunc(r.known, func(gr schema.GroupResource, _ readState) bool { return gone(gr) })
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	maps.DeleteFunc(r.feed.seen, func(gr schema.GroupResource, _ int64) bool { return gone(gr) })
	r.feed.routes.keep(served)
}

// readAll reads the resources in unread, and removes those that succeeded, some objects of which may be unreadable.
func (r *reading) readAll() {
	var failed []schema.GroupResource
	var all *keys
	if len(r.unread) > 1 {
		all = r.feed.few(r.ctx)
	}
	for i, gr := range r.unread {
		err := r.feed.read(r.ctx, gr, all)
		if r.ctx.Err() != nil {
			r.unread = append(failed, r.unread[i:]...)
			return
		}
		state := r.known[gr] &^ partial
		switch {
		case err == nil:
			state = 0
		case errors.As(err, new(*unreadError)):
			state |= partial
		default:
			failed = append(failed, gr)
		}
		if err != nil && state&reported == 0 {
			state |= reported
			klog.ErrorS(err, "Failed to read the objects of a resource, will retry", "resource", gr.String())
		}
		r.known[gr] = state
	}
	r.unread = failed
}
