package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// retryDelay is the pause after a watch that failed at once, or after a failed reconcile.
const retryDelay = time.Second

// follow keeps the entries as the stored Workspaces are, until ctx is done.
func (m *Manager) follow(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		err := m.followOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, storage.ErrStopped) && !errors.Is(err, storage.ErrTooSlow) {
			klog.ErrorS(err, "Failed to watch workspaces, will retry")
		}
		if time.Since(began) < retryDelay {
			select {
			case <-ctx.Done():
			case <-time.After(retryDelay):
			}
		}
	}
}

// followOnce applies the events of one watch, which begins with the existing objects.
func (m *Manager) followOnce(ctx context.Context) error {
	opts := storage.WatchOptions{Initial: true, Bookmarks: true, Freshness: storage.Freshness{Match: storage.Consistent}}
	opts.Prefix = m.store.Prefix()
	w, err := m.store.Cache().Watch(ctx, opts)
	if err != nil {
		return err
	}
	defer w.Stop()
	initial := map[string]bool{}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			switch e := &events[i]; {
			case e.Type == storage.Bookmark && e.InitialEventsEnd:
				m.dropOthers(initial, e.Revision)
				initial = nil
			case e.Type == storage.Bookmark:
			case e.Type == storage.Deleted:
				m.drop(strings.TrimPrefix(e.Record.Key, m.store.Prefix()))
			default:
				if w, err := decode(e.Record); err == nil {
					m.apply(w, e.Record.Revision)
				} else {
					klog.ErrorS(err, "Failed to decode a workspace")
				}
				if initial != nil {
					initial[strings.TrimPrefix(e.Record.Key, m.store.Prefix())] = true
				}
			}
		}
	}
}

// dropOthers drops the entries that a new watch does not show, and announces that the others are known. revision is
// that of the shown objects: a later one was read beside the watch.
func (m *Manager) dropOthers(present map[string]bool, revision int64) {
	m.mu.Lock()
	var gone []string
	for name, e := range m.entries {
		if !present[name] && e.revision <= revision {
			gone = append(gone, name)
		}
	}
	m.mu.Unlock()
	for _, name := range gone {
		m.drop(name)
	}
	select {
	case <-m.known:
	default:
		close(m.known)
	}
}

// drop removes a workspace whose object was deleted, and stops it.
func (m *Manager) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[name]
	if e == nil {
		return
	}
	delete(m.entries, name)
	if e.instance != nil {
		e.instance.stop()
	}
	if !e.deleting { // without the finalizer
		e.deleting = true
		m.running.Go(func() { m.retry(m.ctx, e, m.eraseLost) })
	}
}

// read reads a workspace from storage and adds its entry. It returns false if there is none.
func (m *Manager) read(ctx context.Context, name string) bool {
	if m.store == nil {
		return false
	}
	w, revision, err := m.stored(ctx, name)
	if err != nil {
		klog.ErrorS(err, "Failed to read workspace", "workspace", name)
	}
	if w == nil {
		return false
	}
	m.apply(w, revision)
	return true
}

// stored reads a workspace and its revision from storage; nil if it does not exist.
func (m *Manager) stored(ctx context.Context, name string) (*Workspace, int64, error) {
	r, err := m.store.Cache().Get(ctx, m.store.Prefix()+name, storage.Freshness{Match: storage.Consistent})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	w, err := decode(r)
	return w, r.Revision, err
}

func decode(r *storage.Record) (*Workspace, error) {
	w := &Workspace{}
	text, err := wire.StoredText(r.Value())
	if err == nil {
		err = json.Unmarshal(text, w)
	}
	if err != nil {
		return nil, fmt.Errorf("stored workspace %s: %w", r.Key, err)
	}
	return w, nil
}

// apply updates the entry of a stored workspace.
func (m *Manager) apply(w *Workspace, revision int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[w.Name]
	if e != nil && e.revision > revision {
		return
	}
	if e != nil && e.uid != w.UID { // deleted and created again
		if e.instance != nil {
			e.instance.stop()
		}
		e.deleting, e = true, nil
	}
	if e == nil {
		e = &entry{name: w.Name, uid: w.UID, created: w.CreationTimestamp}
		m.entries[w.Name] = e
	}
	e.revision, e.suspended, e.limits = revision, w.Spec.Suspended, w.Spec.Quota.limits()
	e.admins = nil
	for _, s := range w.Spec.Admins {
		e.admins = append(e.admins, subject{s.Kind == rbacv1.GroupKind, s.Name})
	}
	if isInitial(w) && !e.initializing {
		e.initializing = true
		m.running.Go(func() { m.initialize(m.ctx, e) })
	}
	if deleting := w.DeletionTimestamp != nil; deleting && !e.deleting {
		e.deleting = true
		if e.instance != nil {
			e.instance.stop()
		}
		m.running.Go(func() { m.retry(m.ctx, e, m.empty) })
	}
}
