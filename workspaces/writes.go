package workspaces

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
)

// Writes wraps the storage options of a workspace: writes that exceed its quota, and those after its deletion, are
// rejected. keys is the multiplexer of its keys.
func (m *Manager) Writes(in *Inputs, inner registry.RESTOptionsGetter,
	keys *cache.Multiplexer) registry.RESTOptionsGetter {
	return &writes{RESTOptionsGetter: inner, existence: in.existence,
		usage: &usage{manager: m, name: in.Name, path: in.Path, keys: keys}}
}

type writes struct {
	registry.RESTOptionsGetter
	existence *existence
	usage     *usage
}

// GetRESTOptions implements registry.RESTOptionsGetter.
func (w *writes) GetRESTOptions(resource schema.GroupResource) (registry.RESTOptions, error) {
	o, err := w.RESTOptionsGetter.GetRESTOptions(resource)
	if err != nil {
		return o, err
	}
	limited := &limited{Backend: o.Backend, writes: w, resource: resource}
	if view, ok := o.Backend.(cache.View); ok {
		o.Backend = limitedView{limited, view}
	} else {
		o.Backend = limited
	}
	return o, nil
}

// limited is the backend of a resource of a workspace.
type limited struct {
	storage.Backend
	*writes
	resource schema.GroupResource
}

// limitedView is limited for a backend that decodes changes.
type limitedView struct {
	*limited
	view cache.View
}

// Decode implements cache.View.
func (l limitedView) Decode(c *storage.Change) error { return l.view.Decode(c) }

// Create implements storage.Backend.
func (l *limited) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	undo, err := l.usage.reserve(ctx, l.resource, key, len(value))
	if err != nil {
		return 0, err
	}
	revision, err := l.existence.write(ctx, func(ctx context.Context) (int64, error) {
		return l.Backend.Create(ctx, key, value, ttl)
	})
	if err != nil {
		undo()
	}
	return revision, err
}

// Update implements storage.Backend.
func (l *limited) Update(ctx context.Context, key string, value []byte, expected int64,
	ttl time.Duration) (int64, error) {
	undo, err := l.usage.reserve(ctx, l.resource, key, len(value))
	if err != nil {
		return 0, err
	}
	revision, err := l.existence.write(ctx, func(ctx context.Context) (int64, error) {
		return l.Backend.Update(ctx, key, value, expected, ttl)
	})
	if err != nil {
		undo()
	}
	return revision, err
}

// Delete implements storage.Backend.
func (l *limited) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	return l.existence.write(ctx, func(ctx context.Context) (int64, error) {
		return l.Backend.Delete(ctx, key, expected)
	})
}

// existence makes the writes in a workspace fail after its deletion, in replicas that have not learned of it, too. Each
// write has the condition that a key of the workspace is at its revision. The first write creates the key, with the
// condition that the Workspace has not changed since it was read; the deletion changes the key before all others (see
// Manager.erase).
type existence struct {
	manager    *Manager
	name, path string
	written    func()     // called before the first write
	marking    sync.Mutex // locked while the first write marks

	mu       sync.Mutex
	revision int64        // of the key; 0 before the first write
	marked   atomic.Int64 // when it was last stored that the workspace is awake; 0 before the first write
}

// errDeleted is the error of a write after the deletion of the workspace.
var errDeleted = errors.New("it was deleted")

// erasing is the value of the key while the keys of a deleted workspace are deleted.
const erasing = "deleted"

// write calls f with a context whose writes fail after the deletion. Before the first one it stores that the workspace
// is awake: what a crash interrupts is due then.
func (x *existence) write(ctx context.Context, f func(context.Context) (int64, error)) (int64, error) {
	revision, err := x.current(ctx)
	if err == nil {
		ctx = storage.WithCondition(ctx, storage.Condition{Key: x.manager.existenceKey(x.path), Revision: revision})
		if x.marked.Load() == 0 {
			x.mark(ctx)
		}
		revision, err = f(ctx)
	}
	if errors.Is(err, errDeleted) || errors.Is(err, storage.ErrCondition) {
		return 0, unavailable(x.name, errDeleted)
	}
	return revision, err
}

// mark stores that the workspace is awake. The next write repeats it after a failure.
func (x *existence) mark(ctx context.Context) {
	x.marking.Lock()
	defer x.marking.Unlock()
	if x.marked.Load() != 0 {
		return
	}
	x.written()
	now := time.Now()
	err := x.manager.setDue(ctx, x.path, &due{At: now.Add(awakeFor), Awake: true})
	if err == nil {
		x.marked.Store(now.Unix())
	} else if ctx.Err() == nil && !errors.Is(err, storage.ErrCondition) {
		klog.ErrorS(err, "Failed to store that a workspace is awake", "workspace", x.name)
	}
}

// current returns the revision of the key.
func (x *existence) current(ctx context.Context) (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.revision != 0 {
		return x.revision, nil
	}
	var err error
	x.revision, err = x.establish(ctx)
	return x.revision, err
}

// isDue reports whether it is stored that work is due, as after a crash.
func (x *existence) isDue(ctx context.Context) bool {
	_, err := x.manager.config.Backend.Get(ctx, x.manager.dueKey(x.path))
	return !errors.Is(err, storage.ErrNotFound)
}

// establish returns the revision of the key, which it creates if there is none.
func (x *existence) establish(ctx context.Context) (int64, error) {
	m, key := x.manager, x.manager.existenceKey(x.path)
	for {
		kv, err := m.config.Backend.Get(ctx, key)
		switch {
		case err == nil && string(kv.Value) == erasing:
			return 0, errDeleted
		case !errors.Is(err, storage.ErrNotFound):
			return kv.Revision, err
		}
		w, revision, err := m.stored(ctx, x.name)
		if err != nil {
			return 0, err
		}
		if w == nil || Path(w.Name, w.UID) != x.path || w.DeletionTimestamp != nil {
			return 0, errDeleted
		}
		unchanged := storage.Condition{Key: m.store.Prefix() + x.name, Revision: revision}
		created, err := m.config.Backend.Create(storage.WithCondition(ctx, unchanged), key, []byte(x.name), 0)
		if !errors.Is(err, storage.ErrExists) && !errors.Is(err, storage.ErrCondition) {
			return created, err
		}
	}
}

// existencePrefix is that of the keys of existence.
func (m *Manager) existencePrefix() string { return m.config.Prefix + "/" + directory + "/.existing/" }

// existenceKey returns the key of existence of a workspace whose keys are below a path.
func (m *Manager) existenceKey(path string) string {
	return m.existencePrefix() + path[len(directory)+1:]
}

// endWrites makes all later writes in a workspace fail, in all replicas. Its object must have been deleted or marked as
// deleted before, so that no replica creates the key.
func (m *Manager) endWrites(ctx context.Context, e *entry) error {
	key := m.existenceKey(e.path())
	for {
		kv, err := m.config.Backend.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) || err == nil && string(kv.Value) == erasing {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = m.config.Backend.Update(ctx, key, []byte(erasing), kv.Revision, 0)
		if conflict := new(storage.ConflictError); !errors.As(err, &conflict) {
			return err
		}
	}
}

// retrySeconds is after how many seconds clients retry a request to a workspace that cannot be served now.
const retrySeconds = 1

// unavailable returns the error of a request to a workspace that cannot be served now.
func unavailable(name string, why error) error {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf("workspace %q is not available: %v", name, why))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retrySeconds}
	return err
}
