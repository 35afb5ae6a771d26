package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
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

// erase deletes the keys of a deleted workspace. It marks them first, because another replica may still write some.
func (m *Manager) erase(ctx context.Context, e *entry) error {
	if err := m.awaitStopped(ctx, e); err != nil {
		return err
	}
	mark := m.deletedPrefix() + path.Base(e.path())
	_, err := m.config.Backend.Create(ctx, mark, []byte(time.Now().UTC().Format(time.RFC3339)), 0)
	if err != nil && !errors.Is(err, storage.ErrExists) {
		return err
	}
	return m.deleteKeys(ctx, e.path(), func(deleted int, left int64) error {
		err := m.progress(ctx, e.name, e.uid, deleted, left)
		if apierrors.IsNotFound(err) { // the finalizer was removed by a client
			return nil
		}
		return err
	})
}

// eraseLost erases a workspace whose object was deleted without the finalizer.
func (m *Manager) eraseLost(ctx context.Context, e *entry) error {
	r, err := m.store.Cache().Get(ctx, m.store.Prefix()+e.name, storage.Freshness{Match: storage.Consistent})
	switch {
	case errors.Is(err, storage.ErrNotFound):
	case err != nil:
		return err
	default:
		var stored Workspace
		if err := json.Unmarshal(r.Value, &stored); err != nil || stored.UID == e.uid {
			return err
		}
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

// deleteKeys deletes all keys below a path. It calls progress after each page.
func (m *Manager) deleteKeys(ctx context.Context, path string, progress func(deleted int, left int64) error) error {
	for deleted := 0; ; {
		page, err := m.config.Backend.Range(ctx, storage.RangeOptions{Prefix: m.config.Prefix + "/" + path + "/",
			Limit: emptyPage})
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

const (
	// eraseEvery is how often the keys of deleted workspaces are looked for, eraseFor how long after the deletion:
	// replicas learn of it within moments, and finish the writes that they have begun.
	eraseEvery = 5 * time.Minute
	eraseFor   = time.Hour
)

// deletedPrefix is that of the keys that mark deleted workspaces by the last segment of their paths.
func (m *Manager) deletedPrefix() string { return m.config.Prefix + "/" + directory + "/.deleted/" }

// eraseDeleted deletes the keys that other replicas wrote after a workspace was deleted, or that a replica did not
// delete before it ended.
func (m *Manager) eraseDeleted(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.eraseMarked(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to look for keys of deleted workspaces, will retry")
		}
		select {
		case <-ctx.Done():
		case <-time.After(eraseEvery):
		}
	}
}

func (m *Manager) eraseMarked(ctx context.Context) error {
	marks, err := m.config.Backend.Range(ctx, storage.RangeOptions{Prefix: m.deletedPrefix()})
	if err != nil {
		return err
	}
	for i := range marks.Items {
		mark := &marks.Items[i]
		name := strings.TrimPrefix(mark.Key, m.deletedPrefix())
		if err := m.deleteKeys(ctx, directory+"/"+name, func(int, int64) error { return nil }); err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, string(mark.Value)); err == nil && time.Since(at) < eraseFor {
			continue
		}
		_, err := m.config.Backend.Delete(ctx, mark.Key, mark.Revision)
		if conflict := new(storage.ConflictError); err != nil && !errors.As(err, &conflict) {
			return err
		}
	}
	return nil
}

// progress reports in the conditions of a workspace how many keys are left.
func (m *Manager) progress(ctx context.Context, name string, uid types.UID, deleted int, left int64) error {
	_, err := m.store.Modify(ctx, name, m.store.Kind().Status, false, func(w *Workspace) error {
		if w.UID != uid {
			return apierrors.NewNotFound(GroupVersion.WithResource(Plural).GroupResource(), name)
		}
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: Emptied, Status: metav1.ConditionFalse,
			Reason: "Deleting", Message: fmt.Sprintf("Deleted %d keys, %d are left", deleted, left)})
		return nil
	})
	return err
}

// asServer returns a context whose writes are the server's own.
func asServer(ctx context.Context) context.Context {
	return request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
}
