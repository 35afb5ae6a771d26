package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
)

// breaking is a backend whose watch can be broken. It hides that it is in this process, so that no shortcuts
// are used.
type breaking struct {
	storage.Backend
	mu     sync.Mutex
	err    error // for the next Next or Watch
	broken chan struct{}
	down   atomic.Bool
}

func newBreaking(b *embedded.Backend) *breaking {
	return &breaking{Backend: b, broken: make(chan struct{})}
}

func (b *breaking) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	close(b.broken)
	b.broken = make(chan struct{})
}

func (b *breaking) Watch(ctx context.Context, prefix string, from int64, needPrevious func(string) bool) (storage.ChangeStream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down.Load() {
		return nil, b.err
	}
	s, err := b.Backend.Watch(ctx, prefix, from, needPrevious)
	return &breakingStream{ChangeStream: s, backend: b, broken: b.broken}, err
}

type breakingStream struct {
	storage.ChangeStream
	backend *breaking
	broken  chan struct{}
}

func (s *breakingStream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.broken:
			cancel()
		case <-ctx.Done():
		}
	}()
	changes, progress, err := s.ChangeStream.Next(ctx)
	select {
	case <-s.broken:
		s.backend.mu.Lock()
		defer s.backend.mu.Unlock()
		return nil, progress, s.backend.err
	default:
		return changes, progress, err
	}
}

func breakingWorld(t *testing.T) (*world, *breaking) {
	w := &world{TB: t, backend: newBackend(t)}
	b := newBreaking(w.backend)
	w.mux = NewMultiplexer(b, "/registry/")
	w.cache = w.mux.Cache(podConfig)
	runMultiplexer(t, w.mux)
	return w, b
}

func TestBrokenWatchIsReopened(t *testing.T) {
	w, b := breakingWorld(t)
	s := w.watch(storage.WatchOptions{})
	a := w.create("a", thing{})
	same(t, received(t, s, 1), fmt.Sprintf("ADDED a@%d {}", a))
	b.fail(errors.New("broken"))
	c := w.create("c", thing{})
	same(t, received(t, s, 1), fmt.Sprintf("ADDED c@%d {}", c))
	if got := names(w.list(storage.ListOptions{})); got != "a c" {
		t.Errorf("listed %q", got)
	}
	if st := &w.mux.counts; st.reconnects.Load() != 1 || st.rebuilds.Load() != 0 {
		t.Errorf("got %+v", st)
	}
}

func TestLostHistoryResetsCaches(t *testing.T) {
	w, b := breakingWorld(t)
	a := w.create("a", thing{})
	w.list(storage.ListOptions{})
	s := w.watch(storage.WatchOptions{Revision: a})
	b.fail(storage.ErrCompacted)
	if _, err := s.Next(context.Background()); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
	w.create("b", thing{})
	if got := names(w.list(storage.ListOptions{})); got != "a b" {
		t.Errorf("listed %q", got)
	}
	if w.mux.counts.rebuilds.Load() == 0 {
		t.Error("the caches were not reset")
	}
}

// Reads are served from the backend while the watch is behind.
func TestReadsWhileTheWatchIsBehind(t *testing.T) {
	w, b := breakingWorld(t)
	w.list(storage.ListOptions{})
	w.mux.patience = 20 * time.Millisecond
	b.down.Store(true)
	b.fail(errors.New("broken for long"))
	rev := w.create("a", thing{})
	r, err := w.cache.Get(context.Background(), pods+"a", storage.Freshness{})
	if err != nil || r.Revision != rev {
		t.Errorf("got %v, %v", r, err)
	}
	if l := w.list(storage.ListOptions{}); names(l) != "a" || l.Revision != rev {
		t.Errorf("listed %q at %d", names(l), l.Revision)
	}
	if _, err := w.cache.Watch(context.Background(), storage.WatchOptions{Initial: true}); !errors.As(err, new(*storage.TooLargeError)) {
		t.Errorf("a watch that has to be current: %v", err)
	}
	b.down.Store(false)
}

// Readers and watchers see the same order of concurrent writes.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	const writers, writes = 4, 60
	start := w.create("start", thing{})
	watches := make([]storage.Watch, 5)
	for i := range watches {
		opts := storage.WatchOptions{Revision: start}
		if i%2 == 1 {
			opts.Labels = selector(t, "a!=b")
		}
		watches[i] = w.watch(opts)
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			key := pods + fmt.Sprint(i)
			ctx := context.Background()
			rev, err := w.backend.Create(ctx, key, value(thing{}), 0)
			for n := range writes - 1 {
				if err != nil {
					t.Error(err)
					return
				}
				l, listErr := w.cache.List(ctx, storage.ListOptions{Limit: 2})
				if listErr != nil || l.Revision < rev {
					t.Errorf("listed at %d after %d: %v", l.Revision, rev, listErr)
				}
				rev, err = w.backend.Update(ctx, key, value(thing{Data: fmt.Sprint(n)}), rev, 0)
			}
		})
	}
	for _, s := range watches {
		wg.Go(func() {
			got := 0
			last := start
			for got < writers*writes {
				events, err := s.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range events {
					if e.Revision <= last {
						t.Errorf("received %d after %d", e.Revision, last)
					}
					last = e.Revision
				}
				got += len(events)
			}
		})
	}
	wg.Wait()
}

// A fill includes writes that happen during it.
func TestFillDuringWrites(t *testing.T) {
	w := newWorld(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 400 {
			w.create(fmt.Sprintf("%03d", i), thing{})
		}
	}()
	for i := range 40 {
		c := w.mux.Cache(podConfig)
		l, err := c.List(context.Background(), storage.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		page, err := w.backend.Range(context.Background(), storage.RangeOptions{Prefix: pods, Revision: l.Revision})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) != len(l.Records) {
			t.Fatalf("round %d: listed %d records at %d, there are %d", i, len(l.Records), l.Revision, len(page.Items))
		}
		w.mux.Drop(pods)
	}
	<-done
}

// Deleting a prefix results in many deletions with one revision.
func TestManyKeysInOneRevision(t *testing.T) {
	h := NewMultiplexer(newBackend(t), "/registry") // driven by the test, not by Run
	c := h.Cache(podConfig)
	h.rebuild(7)
	close(h.started)
	s, err := c.Watch(context.Background(), storage.WatchOptions{Revision: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	h.apply([]storage.Change{
		{Key: pods + "b", Value: []byte("{}"), Revision: 8},
		{Key: pods + "c", Value: []byte("{}"), Revision: 8},
		{Key: "/registry/other/x", Value: []byte("{}"), Revision: 9},
		{Key: pods + "b", Previous: []byte("{}"), PrevRev: 8, Revision: 10},
		{Key: pods + "c", Previous: []byte("{}"), PrevRev: 8, Revision: 10},
	}, 11)
	same(t, received(t, s, 4), "ADDED b@8 {}", "ADDED c@8 {}", "DELETED b@10 {}", "DELETED c@10 {}")
	if h.Progress() != 11 {
		t.Errorf("the progress is %d", h.Progress())
	}
}

func TestExpect(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.list(storage.ListOptions{})
	for i := range 50 {
		v := value(thing{Data: "x"})
		key := fmt.Sprintf("%s%d", pods, i)
		rev, err := w.backend.Create(ctx, key, v, 0)
		if err != nil {
			t.Fatal(err)
		}
		mine := storage.NewRecord(key, v, rev)
		mine.SeedForm(7, nil, []byte("form"))
		w.cache.Expect(mine)
		r, err := w.cache.Get(ctx, key, storage.Freshness{})
		if err != nil {
			t.Fatal(err)
		}
		form, err := r.Form(7, nil, func(*storage.Record) ([]byte, error) { return nil, errors.New("encoded again") })
		if err != nil || string(form) != "form" {
			t.Fatalf("the writer's form is lost: %v", err)
		}
	}
}

func TestExpectedDeletion(t *testing.T) {
	w := newWorld(t)
	w.list(storage.ListOptions{})
	events := w.watch(storage.WatchOptions{Prefix: pods, Revision: w.mux.Progress()})
	for i, announced := range []thing{{Data: "x"}, {Data: "another"}} {
		rev := w.create("a", thing{Data: "x"})
		mine := storage.NewRecord(pods+"a", value(announced), rev+1)
		w.cache.Expect(mine)
		w.remove("a", rev)
		var got []storage.Event
		for len(got) < 2 {
			some, err := events.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, some...)
		}
		same, text := got[1].Record == mine, string(got[1].Record.Value())
		if same != (i == 0) || text != string(value(thing{Data: "x"})) {
			t.Errorf("announced %v: the event has the record: %v, with %s", announced, same, text)
		}
	}
}
