package informers

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

// events is an Informer as the handler of a follower.
type events Informer

// Handle implements follow.Handler.
func (e *events) Handle(ctx context.Context, all []storage.Event) {
	i := (*Informer)(e)
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range all {
		event := &all[n]
		i.revision = event.Revision
		if event.Type == storage.Deleted {
			i.remove(event.Record.Key[len(i.prefix):])
			continue
		}
		obj, err := i.object(event.Record)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Skipped an object that cannot be decoded", "key", event.Record.Key,
				"err", err)
			continue
		}
		i.set(event.Record.Key[len(i.prefix):], obj)
	}
}

// Listed implements follow.Handler.
func (e *events) Listed(_ context.Context, revision int64, has func(key string) bool) {
	i := (*Informer)(e)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revision = max(i.revision, revision)
	for _, key := range i.indexer.ListKeys() {
		if !has(i.prefix + key) {
			i.remove(key)
		}
	}
	if !i.HasSynced() {
		close(i.synced)
	}
}

// object returns the decoded and transformed object of a record.
func (i *Informer) object(r *storage.Record) (any, error) {
	obj, err := i.decode(r)
	if err != nil || i.transform == nil {
		return obj, err
	}
	return i.transform(obj)
}

// set stores an object and passes it to the handlers. The caller holds i.mu.
func (i *Informer) set(key string, obj any) {
	old, exists, _ := i.indexer.GetByKey(key) // the indexer returns no errors
	if exists {
		_ = i.indexer.Update(obj)
	} else {
		_ = i.indexer.Add(obj)
	}
	for _, r := range i.handlers {
		if exists {
			r.handler.OnUpdate(old, obj)
		} else {
			r.handler.OnAdd(obj, !i.HasSynced())
		}
	}
}

// remove deletes an object and passes its last state to the handlers. The caller holds i.mu.
func (i *Informer) remove(key string) {
	old, exists, _ := i.indexer.GetByKey(key) // the indexer returns no errors
	if !exists {
		return
	}
	_ = i.indexer.Delete(old)
	for _, r := range i.handlers {
		r.handler.OnDelete(old)
	}
}

func formatRevision(revision int64) string {
	if revision == 0 {
		return ""
	}
	return strconv.FormatInt(revision, 10)
}

// The following methods complete cache.SharedIndexInformer.

// GetStore returns the same as GetIndexer.
func (i *Informer) GetStore() cache.Store { return i.indexer }

// GetController returns nil: there is no controller of client-go.
func (i *Informer) GetController() cache.Controller { return nil }

// Run is RunWithContext until stop is closed.
func (i *Informer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// RemoveEventHandler removes a handler.
func (i *Informer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, r := range i.handlers {
		if cache.ResourceEventHandlerRegistration(r) == handle {
			i.handlers = append(i.handlers[:n:n], i.handlers[n+1:]...)
			return nil
		}
	}
	return nil
}

// SetWatchErrorHandler has no effect: an error of a cache is logged, and the watch is retried.
func (i *Informer) SetWatchErrorHandler(cache.WatchErrorHandler) error { return nil }

// SetWatchErrorHandlerWithContext has no effect: an error of a cache is logged, and the watch is retried.
func (i *Informer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}
