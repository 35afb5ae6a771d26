package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a multiplexer with a separate etcd.
type world struct {
	testing.TB
	backend *embedded.Backend
	mux     *Multiplexer
	cache   *Cache
}

const pods = "/registry/pods/"

// thing is the type of values.
type thing struct {
	Labels map[string]string `json:"labels,omitempty"`
	Node   string            `json:"node,omitempty"`
	Data   string            `json:"data,omitempty"`
}

func labelsOf(r *storage.Record) (storage.Set, error) {
	var t thing
	err := json.Unmarshal(r.Value(), &t)
	return storage.SetOf(t.Labels), err
}

func fieldsOf(r *storage.Record) (storage.Set, error) {
	var t thing
	err := json.Unmarshal(r.Value(), &t)
	return storage.SetOf(map[string]string{"spec.nodeName": t.Node, storage.FieldName: r.Key[strings.LastIndexByte(r.Key, '/')+1:]}), err
}

var podConfig = Config{CacheConfig: storage.CacheConfig{Prefix: pods, Namespaced: true, Labels: labelsOf, Fields: fieldsOf, IndexField: "spec.nodeName"}}

func newBackend(t testing.TB) *embedded.Backend {
	t.Helper()
	s, err := embedded.Start(context.Background(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Backend()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, backend: newBackend(t)}
	w.run()
	return w
}

func (w *world) run() {
	w.mux = NewMultiplexer(w.backend, "/registry")
	w.cache = w.mux.Cache(podConfig)
	runMultiplexer(w, w.mux)
}

func runMultiplexer(t testing.TB, h *Multiplexer) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the multiplexer ended with %v", err)
		}
	})
	<-h.Started()
}

func value(t thing) []byte {
	b, _ := json.Marshal(t)
	return b
}

func (w *world) create(name string, v thing) int64 {
	w.Helper()
	rev, err := w.backend.Create(context.Background(), pods+name, value(v), 0)
	if err != nil {
		w.Fatal(err)
	}
	return rev
}

func (w *world) update(name string, at int64, v thing) int64 {
	w.Helper()
	rev, err := w.backend.Update(context.Background(), pods+name, value(v), at, 0)
	if err != nil {
		w.Fatal(err)
	}
	return rev
}

func (w *world) remove(name string, at int64) int64 {
	w.Helper()
	rev, err := w.backend.Delete(context.Background(), pods+name, at)
	if err != nil {
		w.Fatal(err)
	}
	return rev
}

func (w *world) list(opts storage.ListOptions) storage.List {
	w.Helper()
	l, err := w.cache.List(context.Background(), opts)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

func (w *world) watch(opts storage.WatchOptions) storage.Watch {
	w.Helper()
	s, err := w.cache.Watch(context.Background(), opts)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(s.Stop)
	return s
}

// names returns the names of a list's records: "a b".
func names(l storage.List) string {
	var out []string
	for _, r := range l.Records {
		out = append(out, strings.TrimPrefix(r.Key, pods))
	}
	return strings.Join(out, " ")
}

var typeNames = map[storage.EventType]string{
	storage.Added: "ADDED", storage.Modified: "MODIFIED", storage.Deleted: "DELETED", storage.Bookmark: "BOOKMARK",
}

// received returns the next n events: "ADDED a@5 {...}".
func received(t testing.TB, s storage.Watch, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var out []string
	for len(out) < n {
		events, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", out, err)
		}
		for _, e := range events {
			line := fmt.Sprintf("%s @%d", typeNames[e.Type], e.Revision)
			if e.Record != nil {
				line = fmt.Sprintf("%s %s@%d %s", typeNames[e.Type], strings.TrimPrefix(e.Record.Key, pods), e.Record.Revision,
					e.Record.Value())
			}
			if e.InitialEventsEnd {
				line += " end"
			}
			out = append(out, line)
		}
	}
	return out
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// quiet checks that a watch has no events.
func quiet(t testing.TB, s storage.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if events, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("received %v, %v although nothing concerns it", events, err)
	}
}

func selector(t testing.TB, s string) labels.Selector {
	t.Helper()
	l, err := labels.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func on(node string) fields.Selector { return fields.OneTermEqualSelector("spec.nodeName", node) }

func labelled(kv ...string) thing {
	t := thing{Labels: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		t.Labels[kv[i]] = kv[i+1]
	}
	return t
}
