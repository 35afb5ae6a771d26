package informers

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/follow"
	"triplane.dev/generic/storage/memory"
)

const prefix = "/registry/configmaps/"

// source is the storage of config maps in JSON.
type source struct {
	*memory.Backend
	cache *cache.Cache
}

func newSource(t *testing.T) *source {
	t.Helper()
	backend := memory.New()
	mux := cache.NewMultiplexer(backend, "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = mux.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; backend.Close() })
	<-mux.Started()
	return &source{backend, mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix, Namespaced: true}})}
}

func (s *source) Cache() storage.Cache { return s.cache }
func (s *source) KeyPrefix() string    { return prefix }

func (s *source) DecodeShared(r *storage.Record) (runtime.Object, error) {
	cm := &corev1.ConfigMap{}
	err := json.Unmarshal(r.Value(), cm)
	return cm, err
}

func (s *source) put(t *testing.T, namespace, name, value string, at int64) int64 {
	t.Helper()
	text := fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q},"data":{"v":%q}}`, namespace, name, value)
	if value == "" {
		text = []byte("unreadable")
	}
	var revision int64
	var err error
	if key := prefix + namespace + "/" + name; at == 0 {
		revision, err = s.Create(t.Context(), key, text, 0)
	} else {
		revision, err = s.Update(t.Context(), key, text, at, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// record is a handler that keeps the events as text.
type record struct {
	mu     sync.Mutex
	events []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func describe(obj any) string {
	cm := obj.(*corev1.ConfigMap)
	return cm.Namespace + "/" + cm.Name + "=" + cm.Data["v"]
}

func (r *record) OnAdd(obj any, initial bool) { r.add("add %s %v", describe(obj), initial) }
func (r *record) OnUpdate(old, obj any)       { r.add("update %s %s", describe(old), describe(obj)) }
func (r *record) OnDelete(obj any)            { r.add("delete %s", describe(obj)) }

// await waits for events.
func (r *record) await(t *testing.T, want ...string) {
	t.Helper()
	for range 3000 {
		r.mu.Lock()
		have := append([]string(nil), r.events...)
		r.mu.Unlock()
		if fmt.Sprint(have) == fmt.Sprint(want) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the events are %q, want %q", r.events, want)
}

func TestInformerOfFactory(t *testing.T) {
	s := newSource(t)
	a := s.put(t, "n", "a", "1", 0)
	s.put(t, "n", "broken", "", 0)
	factory := NewFactory(func(prototype runtime.Object) follow.Source {
		if _, ok := prototype.(*corev1.ConfigMap); ok {
			return s
		}
		return nil
	})
	informer := factory.InformerFor(&corev1.ConfigMap{})
	if again := factory.InformerFor(&corev1.ConfigMap{}); again.GetIndexer() != informer.GetIndexer() {
		t.Error("the factory has two informers of a kind")
	}
	if err := informer.SetTransform(func(obj any) (any, error) {
		obj.(*corev1.ConfigMap).Labels = map[string]string{"trimmed": ""}
		return obj, nil
	}); err != nil {
		t.Fatal(err)
	}
	var first record
	registration, err := informer.AddEventHandler(&first)
	if err != nil {
		t.Fatal(err)
	}
	missing := factory.InformerFor(&corev1.Secret{})
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	if !clientcache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		t.Fatal("the informer has not synced")
	}
	first.await(t, "add n/a=1 true")
	a = s.put(t, "n", "a", "2", a)
	first.await(t, "add n/a=1 true", "update n/a=1 n/a=2")
	var second record
	if _, err := informer.AddEventHandler(&second); err != nil {
		t.Fatal(err)
	}
	second.await(t, "add n/a=2 true")
	if list, err := corelisters.NewConfigMapLister(informer.GetIndexer()).ConfigMaps("n").List(labels.SelectorFromSet(labels.Set{"trimmed": ""})); err != nil || len(list) != 1 {
		t.Errorf("the lister has %v, %v", list, err)
	}
	if _, err := s.Delete(ctx, prefix+"n/a", a); err != nil {
		t.Fatal(err)
	}
	second.await(t, "add n/a=2 true", "delete n/a=2")
	if missing.HasSynced() {
		t.Error("an informer without storage has synced")
	}
	if err := informer.SetTransform(nil); err == nil {
		t.Error("the transform of a running informer can be changed")
	}
	cancel()
	factory.Shutdown()
	if !informer.IsStopped() {
		t.Error("the informer has not stopped")
	}
}
