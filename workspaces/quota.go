package workspaces

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
)

// limits are the limits of spec.quota; a negative one is none.
type limits struct{ objects, bytes int64 }

// noLimits are the limits without a quota.
var noLimits = limits{-1, -1}

func (q *Quota) limits() limits {
	l := noLimits
	if q != nil && q.Objects != nil {
		l.objects = *q.Objects
	}
	if q != nil && q.Bytes != nil {
		l.bytes = q.Bytes.Value()
	}
	return l
}

// usage counts what a workspace stores, from its first write with a quota on. It is safe for concurrent use.
type usage struct {
	manager *Manager
	name    string
	path    string // of the keys
	keys    *cache.Multiplexer

	mu    sync.Mutex
	tap   *cache.Tap     // the changes that sizes lacks; nil before the first write
	sizes map[string]int // of keys and values
	bytes int64
	seen  int64 // the revision of sizes at the last count
}

// nothing is the undo function of a write that reserved nothing.
func nothing() {}

// reserve adds a write to the usage, or returns the error of the quota that it exceeds. undo removes it again. What the
// server writes itself is counted, and never rejected.
func (u *usage) reserve(ctx context.Context, resource schema.GroupResource, key string,
	size int) (undo func(), err error) {
	e, ok := u.manager.find(ctx, u.name)
	if !ok || e.limits == noLimits {
		return nothing, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.refresh(ctx); err != nil {
		return nothing, err
	}
	size += len(key)
	old, exists := u.sizes[key]
	objects, bytes := int64(len(u.sizes)), u.bytes+int64(size-old)
	if !exists {
		objects++
	}
	if err := e.exceeded(objects, bytes, exists, size > old); err != nil && !isServer(ctx) {
		return nothing, apierrors.NewForbidden(resource, "", err)
	}
	u.set(key, size)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.sizes[key] == size {
			u.set(key, old)
		}
	}, nil
}

// exceeded returns an error if a write needs more objects or bytes than the quota has. A write that needs no more of
// what is exceeded than the stored object is allowed.
func (e *entry) exceeded(objects, bytes int64, exists, grows bool) error {
	if l := e.limits.objects; l >= 0 && objects > l && !exists {
		return fmt.Errorf("exceeded quota of the workspace: the limit of %d objects", l)
	}
	if l := e.limits.bytes; l >= 0 && bytes > l && grows {
		return fmt.Errorf("exceeded quota of the workspace: %d bytes, limited to %d", bytes, l)
	}
	return nil
}

// isServer reports whether the server writes for itself: not for a user who impersonates it.
func isServer(ctx context.Context) bool {
	if s := request.StateFrom(ctx); s != nil && s.Impersonated {
		return false
	}
	u := request.UserFrom(ctx)
	return u == nil || u.Name == user.APIServerUser
}

// set sets the size of a key; 0 removes it. The caller holds u.mu.
func (u *usage) set(key string, size int) {
	u.bytes += int64(size - u.sizes[key])
	if size == 0 {
		delete(u.sizes, key)
		return
	}
	u.sizes[key] = size
}

// refresh applies the changes since the last call, or counts all keys. The caller holds u.mu.
func (u *usage) refresh(ctx context.Context) error {
	counted := u.tap != nil
	if !counted {
		u.tap = u.keys.Tap(nil)
	}
	changes, lost := u.tap.Take()
	if !counted || lost {
		if err := u.count(ctx); err != nil {
			u.tap.Stop()
			u.tap = nil
			return err
		}
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Revision <= u.seen:
		case c.Deleted():
			u.set(c.Key, 0)
		default:
			u.set(c.Key, len(c.Key)+len(c.Value))
		}
	}
	return nil
}

// count reads all keys. The caller holds u.mu.
func (u *usage) count(ctx context.Context) error {
	u.sizes, u.bytes = map[string]int{}, 0
	opts := storage.RangeOptions{Prefix: u.manager.config.Prefix + "/" + u.path + "/"}
	for page, err := range storage.Pages(ctx, u.manager.config.Backend, opts) {
		if err != nil {
			return err
		}
		for i := range page.Items {
			u.set(page.Items[i].Key, len(page.Items[i].Key)+len(page.Items[i].Value))
		}
		u.seen = page.Revision
	}
	return nil
}
