package workspaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/storage"
)

// emptyPage is how many keys are read at once while a workspace is emptied.
const emptyPage = 500

// retry calls f for a deleted workspace until it succeeds, or ctx is done.
func (m *Manager) retry(ctx context.Context, e *entry, f func(context.Context, *entry) error) {
	ctx = asServer(ctx)
	for ctx.Err() == nil {
		err := f(ctx, e)
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if ctx.Err() == nil {
			klog.ErrorS(err, "Failed to delete the contents of a workspace, will retry", "workspace", e.name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

// empty deletes the keys of a deleted workspace and then its finalizer.
func (m *Manager) empty(ctx context.Context, e *entry) error {
	if err := m.erase(ctx, e); err != nil {
		return err
	}
	_, err := m.store.Modify(ctx, e.name, nil, false, func(w *Workspace) error {
		if w.UID != e.uid {
			return apierrors.NewNotFound(GroupVersion.WithResource(Plural).GroupResource(), e.name)
		}
		w.Finalizers = slices.DeleteFunc(w.Finalizers, func(f string) bool { return f == Contents })
		return nil
	})
	return err
}

// erase deletes the keys of a deleted workspace, after no replica can write any more.
func (m *Manager) erase(ctx context.Context, e *entry) error {
	if err := m.awaitStopped(ctx, e); err != nil {
		return err
	}
	if err := m.endWrites(ctx, e); err != nil {
		return err
	}
	err := m.deleteKeys(ctx, m.config.Prefix+"/"+e.path()+"/", func(deleted int, left int64) error {
		err := m.progress(ctx, e.name, e.uid, deleted, left)
		if apierrors.IsNotFound(err) { // the finalizer was removed by a client
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := m.deleteKeys(ctx, m.dueKey(e.path()), nil); err != nil {
		return err
	}
	return m.deleteKeys(ctx, m.existenceKey(e.path()), nil)
}

// eraseLost erases a workspace whose object was deleted without the finalizer.
func (m *Manager) eraseLost(ctx context.Context, e *entry) error {
	w, _, err := m.stored(ctx, e.name)
	if err != nil || w != nil && w.UID == e.uid {
		return err
	}
	return m.erase(ctx, e)
}

// awaitStopped returns when the workspace is asleep in this server.
func (m *Manager) awaitStopped(ctx context.Context, e *entry) error {
	m.mu.Lock()
	i := e.instance
	m.mu.Unlock()
	if i == nil {
		return nil
	}
	i.stop()
	select {
	case <-i.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deleteKeys deletes all keys with a prefix. It calls progress after each page but the last.
func (m *Manager) deleteKeys(ctx context.Context, prefix string, progress func(deleted int, left int64) error) error {
	for deleted := 0; ; {
		page, err := m.config.Backend.Range(ctx, storage.RangeOptions{Prefix: prefix, Limit: emptyPage})
		if err != nil || len(page.Items) == 0 {
			return err
		}
		for i := range page.Items {
			_, err := m.config.Backend.Delete(ctx, page.Items[i].Key, page.Items[i].Revision)
			if conflict := new(storage.ConflictError); err != nil && !errors.As(err, &conflict) {
				return err
			}
			deleted++
		}
		if left := page.Count - int64(len(page.Items)); left > 0 {
			if err := progress(deleted, left); err != nil {
				return err
			}
		}
	}
}

// catchUp does once what was not done before the server started.
func (m *Manager) catchUp(ctx context.Context, _ *entry) error {
	select {
	case <-m.known:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := m.readDue(ctx, true); err != nil {
		return err
	}
	m.running.Keep(ctx, m.followDue)
	existing, err := m.eraseDeleted(ctx)
	if err != nil {
		return err
	}
	if err := m.establishOthers(ctx, existing); err != nil {
		return err
	}
	close(m.established)
	return nil
}

// eraseDeleted erases the workspaces whose objects were deleted without the finalizer, and which a replica did not
// erase before it ended. It returns the names of those that have a key of existence.
func (m *Manager) eraseDeleted(ctx context.Context) (existing map[string]bool, err error) {
	existing = map[string]bool{}
	return existing, m.eachBelow(ctx, m.existencePrefix(), func(kv *storage.KeyValue) {
		name, uid, _ := strings.Cut(strings.TrimPrefix(kv.Key, m.existencePrefix()), ".")
		existing[name] = true
		m.mu.Lock()
		e := m.entries[name]
		m.mu.Unlock()
		if e == nil || e.uid != types.UID(uid) {
			lost := &entry{name: name, uid: types.UID(uid), deleting: true}
			m.running.Go(func() { m.retry(m.ctx, lost, m.eraseLost) })
		}
	})
}

// establishOthers creates the keys of existence of the workspaces that an early release has written without them.
func (m *Manager) establishOthers(ctx context.Context, existing map[string]bool) error {
	var others []*entry
	m.mu.Lock()
	for name, e := range m.entries {
		if !existing[name] && !e.deleting {
			others = append(others, e)
		}
	}
	m.mu.Unlock()
	for _, e := range others {
		found, err := m.config.Backend.Range(ctx, storage.RangeOptions{Limit: 1,
			Prefix: m.config.Prefix + "/" + e.path() + "/"})
		if err == nil && len(found.Items) > 0 {
			_, err = (&existence{manager: m, name: e.name, path: e.path(), written: func() {}}).current(ctx)
		}
		if err != nil && !errors.Is(err, errDeleted) {
			return err
		}
	}
	return nil
}

// eachBelow calls f for each key with a prefix.
func (m *Manager) eachBelow(ctx context.Context, prefix string, f func(*storage.KeyValue)) error {
	opts := storage.RangeOptions{Prefix: prefix, Limit: emptyPage}
	for {
		page, err := m.config.Backend.Range(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			f(&page.Items[i])
		}
		if !page.More || len(page.Items) == 0 {
			return nil
		}
		opts.After = page.Items[len(page.Items)-1].Key
	}
}

// progress reports in the conditions of a workspace how many keys are left.
func (m *Manager) progress(ctx context.Context, name string, uid types.UID, deleted int, left int64) error {
	return m.setCondition(ctx, name, uid, metav1.Condition{Type: Emptied, Status: metav1.ConditionFalse,
		Reason: "Deleting", Message: fmt.Sprintf("Deleted %d keys, %d are left", deleted, left)})
}

// setCondition sets a condition of a workspace.
func (m *Manager) setCondition(ctx context.Context, name string, uid types.UID, c metav1.Condition) error {
	_, err := m.store.Modify(ctx, name, m.store.Kind().Status, false, func(w *Workspace) error {
		if w.UID != uid {
			return apierrors.NewNotFound(GroupVersion.WithResource(Plural).GroupResource(), name)
		}
		meta.SetStatusCondition(&w.Status.Conditions, c)
		return nil
	})
	return err
}

// asServer returns a context whose writes are the server's own.
func asServer(ctx context.Context) context.Context {
	return request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
}
