package follow

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
)

const prefix = "/registry/things/"

// start returns a backend and its multiplexer, which run during the test.
func start(t testing.TB) (*memory.Backend, *cache.Multiplexer) {
	t.Helper()
	backend := memory.New()
	mux := cache.NewMultiplexer(backend, "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = mux.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; backend.Close() })
	<-mux.Started()
	return backend, mux
}

func things(mux *cache.Multiplexer) *cache.Cache {
	return mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix}})
}

// mirror is a handler that has the state of the cache.
type mirror struct {
	mu     sync.Mutex
	values map[string]string
	lists  int
	panics int // how often Handle panics
}

func (m *mirror) Handle(_ context.Context, events []storage.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panics > 0 {
		m.panics--
		panic("in a handler")
	}
	for _, e := range events {
		if e.Type == storage.Deleted {
			delete(m.values, e.Record.Key)
		} else {
			m.values[e.Record.Key] = string(e.Record.Value())
		}
	}
}

func (m *mirror) Listed(_ context.Context, _ int64, has func(string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	maps.DeleteFunc(m.values, func(key, _ string) bool { return !has(key) })
}

// await waits until the mirror has been listed and has these values: "a=1 b=2".
func (m *mirror) await(t *testing.T, want string) {
	t.Helper()
	var have []string
	for range 3000 {
		m.mu.Lock()
		have = have[:0]
		for _, name := range strings.Fields("a b c d") {
			if v, ok := m.values[prefix+name]; ok {
				have = append(have, name+"="+v)
			}
		}
		listed := m.lists > 0
		m.mu.Unlock()
		if listed && strings.Join(have, " ") == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the handler has %q, want %q", have, want)
}

func create(t testing.TB, b *memory.Backend, name, value string) int64 {
	t.Helper()
	revision, err := b.Create(t.Context(), prefix+name, []byte(value), 0)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func TestFollowerDeliversStateAndChanges(t *testing.T) {
	backend, mux := start(t)
	a := create(t, backend, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	m := &mirror{values: map[string]string{prefix + "d": "stale"}}
	f := Start(ctx, things(mux), m)
	m.await(t, "a=1")
	create(t, backend, "b", "2")
	if _, err := backend.Update(ctx, prefix+"a", []byte("3"), a, 0); err != nil {
		t.Fatal(err)
	}
	m.await(t, "a=3 b=2")
	cancel()
	f.Wait()
	create(t, backend, "c", "4")
	m.await(t, "a=3 b=2")
}

func TestFollowerOpensAnotherWatch(t *testing.T) {
	backend, mux := start(t)
	b := create(t, backend, "b", "1")
	m := &mirror{values: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	c := &replaced{mux: mux}
	f := Start(ctx, c, m)
	m.await(t, "b=1")
	if _, err := backend.Delete(ctx, prefix+"b", b); err != nil {
		t.Fatal(err)
	}
	mux.Drop(prefix) // ends the watch
	create(t, backend, "a", "2")
	m.await(t, "a=2")
	cancel()
	f.Wait()
}

// replaced is the cache that a multiplexer has at the time of a watch.
type replaced struct {
	storage.Cache
	mux *cache.Multiplexer
}

func (r *replaced) Watch(ctx context.Context, opts storage.WatchOptions) (storage.Watch, error) {
	return things(r.mux).Watch(ctx, opts)
}

func TestFollowerListsAfterPanic(t *testing.T) {
	backend, mux := start(t)
	create(t, backend, "a", "1")
	m := &mirror{values: map[string]string{}, panics: 1}
	ctx, cancel := context.WithCancel(t.Context())
	f := Start(ctx, things(mux), m)
	m.await(t, "a=1")
	cancel()
	f.Wait()
}

func TestIdleFollowersHaveNoGoroutines(t *testing.T) {
	backend, mux := start(t)
	create(t, backend, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	followers := make([]*Follower, 50)
	for i := range followers {
		m := &mirror{values: map[string]string{}}
		followers[i] = Start(ctx, things(mux), m)
		m.await(t, "a=1")
	}
	for n := 0; runtime.NumGoroutine() > before; n++ {
		if n == 1000 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	for _, f := range followers {
		f.Wait()
	}
}

func BenchmarkFollow(b *testing.B) {
	backend, mux := start(b)
	seen := make(chan struct{}, 1)
	f := Start(b.Context(), things(mux), counting(seen))
	_ = f
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		create(b, backend, fmt.Sprint(i), "1")
		<-seen
	}
}

// counting is a handler that signals each call.
type counting chan struct{}

func (c counting) Handle(context.Context, []storage.Event) { c <- struct{}{} }

func (c counting) Listed(context.Context, int64, func(string) bool) {}
