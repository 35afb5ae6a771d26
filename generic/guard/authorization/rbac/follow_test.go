package rbac

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/follow"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/internal/worker"
)

// jsonSource is a source of objects in JSON.
type jsonSource struct {
	cache     storage.Cache
	prefix    string
	prototype runtime.Object
}

func (s jsonSource) Cache() storage.Cache { return s.cache }
func (s jsonSource) KeyPrefix() string    { return s.prefix }
func (s jsonSource) DecodeShared(r *storage.Record) (runtime.Object, error) {
	o := s.prototype.DeepCopyObject()
	err := json.Unmarshal(r.Value(), o)
	o.(metav1.Object).SetResourceVersion(strconv.FormatInt(r.Revision, 10))
	return o, err
}

func prefixOf(o runtime.Object) string {
	switch o.(type) {
	case *rbacv1.ClusterRole:
		return "/registry/clusterroles/"
	case *rbacv1.ClusterRoleBinding:
		return "/registry/clusterrolebindings/"
	case *rbacv1.Role:
		return "/registry/roles/"
	}
	return "/registry/rolebindings/"
}

// An authorizer over shared objects drops those that do not exist when it starts, and follows all changes.
func TestFollow(t *testing.T) {
	backend := memory.New()
	defer backend.Close()
	mux := cache.NewMultiplexer(backend, "/registry")
	var running worker.Group
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { _ = mux.Run(ctx) })
	defer running.Wait()
	defer cancel()
	put := func(key string, o runtime.Object) int64 {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		revision, err := backend.Create(ctx, key, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	reader, kept := clusterRole("reader", rule("get", "", "pods")), bindCluster("kept", "reader", alice)
	base := feed(New(), reader, kept, bindCluster("gone", "reader", team)) // all are in the team
	put("/registry/clusterroles/reader", reader)
	revision := put("/registry/clusterrolebindings/kept", kept)
	put("/registry/rolebindings/n/other", bind("n", "other", "ClusterRole", "reader", rbacv1.Subject{Kind: "User", Name: "carol"}))

	a, synced := base.Over(), make(chan struct{})
	idle := base.Over()
	stopped, stop := context.WithCancel(ctx)
	stop()
	idle.Follow(stopped, func(runtime.Object) follow.Source {
		t.Error("objects are read before a decision depends on them")
		return nil
	}, make(chan struct{}))
	ended, end := context.WithCancel(ctx)
	end()
	if admitted, err := a.Admits(ended, &user.Info{Name: "alice"}); admitted || err == nil {
		t.Errorf("it admits a user before it knows what exists: %v, %v", admitted, err)
	}
	running.Go(func() {
		a.Follow(ctx, func(o runtime.Object) follow.Source {
			prefix := prefixOf(o)
			return jsonSource{mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix}}), prefix, o}
		}, synced)
	})
	select {
	case <-synced:
	case <-time.After(10 * time.Second):
		t.Fatal("it has not synced")
	}
	may := func(a *Authorizer, who, namespace string) bool {
		d, _, _ := a.Authorize(ctx, ask(who, "get", namespace, "", "pods", "", "p"))
		return d == authorizer.Allow
	}
	if !may(a, "alice", "n") || may(a, "dave", "n") || !may(a, "carol", "n") || may(a, "carol", "m") {
		t.Error("what existed at the start is not what decides")
	}
	if _, err := backend.Delete(ctx, "/registry/clusterrolebindings/kept", revision); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); may(a, "alice", "n"); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a deleted binding grants")
		}
	}
	if !may(base, "alice", "n") || !may(base, "dave", "n") {
		t.Error("the shared objects have changed")
	}
}
