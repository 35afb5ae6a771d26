package control

import (
	"context"
	"errors"
	"maps"
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
	known, unread, partly, reported map[schema.GroupResource]bool
	synced                          bool
}

func newReading(ctx context.Context, f *Feed) *reading {
	r := &reading{feed: f, ctx: ctx, known: map[schema.GroupResource]bool{}, unread: map[schema.GroupResource]bool{},
		partly: map[schema.GroupResource]bool{}, reported: map[schema.GroupResource]bool{}}
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
		maps.Copy(r.unread, r.partly)
	}
	r.readAll()
	if len(r.unread) == 0 && !r.synced && r.ctx.Err() == nil {
		r.synced = true
		close(r.feed.synced)
	}
	switch {
	case len(r.unread) > 0:
		r.retryAfter(retryEvery)
	case len(r.partly) > 0:
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

// compare adds newly served resources to known and unread, and removes resources that are no longer served, so
// that they are re-read if they are served later.
func (r *reading) compare() {
	local := r.feed.groups.Local()
	served := make(map[schema.GroupResource]bool, len(local))
	for i := range local {
		gr := local[i].GroupResource()
		served[gr] = true
		if !r.known[gr] {
			r.known[gr], r.unread[gr] = true, true
		}
	}
	if len(r.known) == len(served) {
		return
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	for gr := range r.known {
		if !served[gr] {
			delete(r.known, gr)
			delete(r.unread, gr)
			delete(r.partly, gr)
			delete(r.reported, gr)
			delete(r.feed.seen, gr)
		}
	}
	r.feed.routes.keep(served)
}

// readAll reads the resources in unread, and removes those that succeeded. It moves those with unreadable objects
// to partly.
func (r *reading) readAll() {
	for gr := range r.unread {
		err := r.feed.read(r.ctx, gr)
		if r.ctx.Err() != nil {
			return
		}
		delete(r.partly, gr)
		if errors.As(err, new(*unreadError)) {
			r.partly[gr] = true
		}
		if err == nil || r.partly[gr] {
			delete(r.unread, gr)
		}
		if err == nil {
			delete(r.reported, gr)
		} else if !r.reported[gr] {
			r.reported[gr] = true
			klog.ErrorS(err, "Failed to read the objects of a resource, will retry", "resource", gr.String())
		}
	}
}
