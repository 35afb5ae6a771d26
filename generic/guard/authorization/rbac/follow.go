package rbac

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/follow"
)

// Follow uses the objects of the sources, one for each of the four kinds, until ctx is done. It closes synced when it
// has all objects that exist; never if a kind has no source. An Authorizer of Over waits for the first decision.
// sourceOf returns the source of objects of a Go type, nil if there is none.
func (a *Authorizer) Follow(ctx context.Context, sourceOf func(prototype runtime.Object) follow.Source,
	synced chan<- struct{}) {
	if d := a.demand; d != nil {
		select {
		case <-d.Wanted():
		case <-ctx.Done():
			return
		}
	}
	kinds := []*follower{
		{prototype: &rbacv1.ClusterRole{}}, {prototype: &rbacv1.ClusterRoleBinding{}, bindings: true},
		{prototype: &rbacv1.Role{}, namespaced: true}, {prototype: &rbacv1.RoleBinding{}, namespaced: true, bindings: true},
	}
	var unlisted atomic.Int32
	unlisted.Store(int32(len(kinds)))
	var following []*follow.Follower
	for _, k := range kinds {
		source := sourceOf(k.prototype)
		if source == nil {
			continue
		}
		k.authorizer, k.prefix, k.decode = a, source.KeyPrefix(), source.DecodeShared
		k.listed = sync.OnceFunc(func() {
			if unlisted.Add(-1) == 0 {
				a.useShared()
				close(synced)
			}
		})
		following = append(following, follow.Start(ctx, source.Cache(), k))
	}
	<-ctx.Done()
	for _, f := range following {
		f.Wait()
	}
}

// follower uses the objects of one kind.
type follower struct {
	authorizer           *Authorizer
	prototype            runtime.Object
	namespaced, bindings bool
	prefix               string
	decode               func(*storage.Record) (runtime.Object, error)
	listed               func() // called after the first list
}

var _ follow.Handler = (*follower)(nil)

// Handle implements follow.Handler.
func (f *follower) Handle(ctx context.Context, events []storage.Event) {
	for i := range events {
		e := &events[i]
		if e.Type == storage.Deleted {
			f.remove(f.nameOf(e.Record.Key))
			continue
		}
		o, err := f.decode(e.Record)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("Skipped an object that cannot be decoded", "key", e.Record.Key, "err", err)
			continue
		}
		f.authorizer.Set(o)
	}
}

// Listed implements follow.Handler.
func (f *follower) Listed(_ context.Context, _ int64, has func(key string) bool) {
	for _, n := range f.authorizer.names(f.bindings) {
		if key := f.keyOf(n); (n.namespace != "") == f.namespaced && !has(key) {
			f.remove(n)
		}
	}
	f.listed()
}

func (f *follower) remove(n name) {
	if f.bindings {
		f.authorizer.DeleteBinding(n.namespace, n.name)
	} else {
		f.authorizer.DeleteRole(n.namespace, n.name)
	}
}

func (f *follower) nameOf(key string) name {
	rest := strings.TrimPrefix(key, f.prefix)
	if namespace, of, ok := strings.Cut(rest, "/"); ok {
		return name{namespace, of}
	}
	return name{"", rest}
}

func (f *follower) keyOf(n name) string {
	if n.namespace != "" {
		return f.prefix + n.namespace + "/" + n.name
	}
	return f.prefix + n.name
}
