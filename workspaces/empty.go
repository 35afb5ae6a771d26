package workspaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// empty deletes the keys of a deleted workspace and then its finalizer. It retries until it succeeds, or ctx is done.
func (m *Manager) empty(ctx context.Context, name string, uid types.UID) {
	ctx = asServer(ctx)
	for ctx.Err() == nil {
		err := m.tryEmpty(ctx, name, uid)
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if ctx.Err() == nil {
			klog.ErrorS(err, "Failed to delete the contents of a workspace, will retry", "workspace", name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

func (m *Manager) tryEmpty(ctx context.Context, name string, uid types.UID) error {
	if err := m.awaitStopped(ctx, name); err != nil {
		return err
	}
	deleted := 0
	for {
		left, n, err := m.deletePage(ctx, name)
		deleted += n
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		if err := m.progress(ctx, name, uid, deleted, left); err != nil {
			return err
		}
	}
	_, err := m.store.Modify(ctx, name, nil, false, func(w *Workspace) error {
		if w.UID != uid {
			return apierrors.NewNotFound(GroupVersion.WithResource(Plural).GroupResource(), name)
		}
		w.Finalizers = slices.DeleteFunc(w.Finalizers, func(f string) bool { return f == Contents })
		return nil
	})
	return err
}

// awaitStopped returns when the workspace is asleep in this server.
func (m *Manager) awaitStopped(ctx context.Context, name string) error {
	m.mu.Lock()
	var i *instance
	if e := m.entries[name]; e != nil {
		i = e.instance
	}
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

// deletePage deletes some keys. It returns how many, and how many are left.
func (m *Manager) deletePage(ctx context.Context, name string) (left int64, deleted int, err error) {
	prefix := m.config.Prefix + "/" + Path(name) + "/"
	page, err := m.config.Backend.Range(ctx, storage.RangeOptions{Prefix: prefix, Limit: emptyPage})
	if err != nil {
		return 0, 0, err
	}
	for i := range page.Items {
		_, err := m.config.Backend.Delete(ctx, page.Items[i].Key, page.Items[i].Revision)
		if conflict := new(storage.ConflictError); err != nil && !errors.As(err, &conflict) {
			return 0, deleted, err
		}
		deleted++
	}
	return page.Count - int64(len(page.Items)), deleted, nil
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
