package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/storage"
)

// A watch receives the same events with and without a filled cache.
func TestWatchFromARevision(t *testing.T) {
	for _, fill := range []bool{false, true} {
		t.Run(fmt.Sprintf("filled=%v", fill), func(t *testing.T) {
			w := newWorld(t)
			start := w.mux.Progress()
			if fill {
				w.list(storage.ListOptions{})
			}
			a := w.create("ns/a", thing{Data: "1"})
			a2 := w.update("ns/a", a, thing{Data: "2"})
			b := w.create("other/b", thing{})
			end := w.remove("ns/a", a2)
			want := []string{
				fmt.Sprintf(`ADDED ns/a@%d {"data":"1"}`, a),
				fmt.Sprintf(`MODIFIED ns/a@%d {"data":"2"}`, a2),
				fmt.Sprintf(`ADDED other/b@%d {}`, b),
				fmt.Sprintf(`DELETED ns/a@%d {"data":"2"}`, end),
			}
			if start > 0 {
				same(t, received(t, w.watch(storage.WatchOptions{Revision: start}), 4), want...)
			}
			same(t, received(t, w.watch(storage.WatchOptions{Revision: a}), 3), want[1:]...)
			same(t, received(t, w.watch(storage.WatchOptions{Revision: a, Prefix: pods + "other/"}), 1), want[2])
			same(t, received(t, w.watch(storage.WatchOptions{Revision: a, Key: pods + "ns/a"}), 2), want[1], want[3])
			if got := w.cache.Stats().Filled; got != fill {
				t.Errorf("watching filled the cache: %v", got)
			}
		})
	}
}

func TestWatchSeesNewEvents(t *testing.T) {
	w := newWorld(t)
	now := w.create("first/x", thing{})
	all := w.watch(storage.WatchOptions{Revision: now})
	ns := w.watch(storage.WatchOptions{Revision: now, Prefix: pods + "ns/"})
	key := w.watch(storage.WatchOptions{Revision: now, Key: pods + "ns/a"})
	node := w.watch(storage.WatchOptions{Revision: now, Fields: on("n1")})
	nodeNS := w.watch(storage.WatchOptions{Revision: now, Fields: on("n1"), Prefix: pods + "other/"})
	future := w.watch(storage.WatchOptions{Revision: now + 2})

	a := w.create("ns/a", thing{Node: "n1"})
	b := w.create("ns/b", thing{Node: "n2"})
	c := w.create("other/a", thing{Node: "n1"})
	a2 := w.update("ns/a", a, thing{Node: "n2"})

	A := fmt.Sprintf(`ADDED ns/a@%d {"node":"n1"}`, a)
	B := fmt.Sprintf(`ADDED ns/b@%d {"node":"n2"}`, b)
	C := fmt.Sprintf(`ADDED other/a@%d {"node":"n1"}`, c)
	A2 := fmt.Sprintf(`MODIFIED ns/a@%d {"node":"n2"}`, a2)
	gone := fmt.Sprintf(`DELETED ns/a@%d {"node":"n1"}`, a2)
	same(t, received(t, all, 4), A, B, C, A2)
	same(t, received(t, ns, 3), A, B, A2)
	same(t, received(t, key, 2), A, A2)
	same(t, received(t, node, 3), A, C, gone)
	same(t, received(t, nodeNS, 1), C)
	same(t, received(t, future, 2), C, A2)
	for _, s := range []storage.Watch{all, ns, key, node, nodeNS, future} {
		quiet(t, s)
		s.Stop()
		s.Stop()
		if _, err := s.Next(context.Background()); !errors.Is(err, storage.ErrStopped) {
			t.Errorf("after Stop: %v", err)
		}
	}
	if n := w.cache.Stats().Watches; n != 0 {
		t.Errorf("%d watches are left", n)
	}
}

func TestSelectorTransitions(t *testing.T) {
	w := newWorld(t)
	now := w.create("x", thing{})
	s := w.watch(storage.WatchOptions{Revision: now, Labels: selector(t, "k=v")})
	name := w.watch(storage.WatchOptions{Revision: now, Fields: fields.OneTermEqualSelector("metadata.name", "a")})
	r := w.create("a", labelled("k", "w"))
	r2 := w.update("a", r, labelled("k", "v"))
	r3 := w.update("a", r2, labelled("k", "v", "l", "m"))
	r4 := w.update("a", r3, labelled("k", "w"))
	r5 := w.update("a", r4, labelled("k", "v"))
	r6 := w.remove("a", r5)
	same(t, received(t, s, 5),
		fmt.Sprintf(`ADDED a@%d {"labels":{"k":"v"}}`, r2),
		fmt.Sprintf(`MODIFIED a@%d {"labels":{"k":"v","l":"m"}}`, r3),
		fmt.Sprintf(`DELETED a@%d {"labels":{"k":"v","l":"m"}}`, r4),
		fmt.Sprintf(`ADDED a@%d {"labels":{"k":"v"}}`, r5),
		fmt.Sprintf(`DELETED a@%d {"labels":{"k":"v"}}`, r6))
	if got := received(t, name, 6); len(got) != 6 {
		t.Errorf("got %q", got)
	}
}

func TestInitialEvents(t *testing.T) {
	w := newWorld(t)
	a := w.create("a", labelled("x", "y"))
	b := w.create("b", thing{})
	A, B := fmt.Sprintf(`ADDED a@%d {"labels":{"x":"y"}}`, a), fmt.Sprintf(`ADDED b@%d {}`, b)
	end := fmt.Sprintf("BOOKMARK @%d end", b)
	initial := storage.WatchOptions{Initial: true, Bookmarks: true}

	s := w.watch(initial)
	same(t, received(t, s, 3), A, B, end)
	withLabels := initial
	withLabels.Labels = selector(t, "x")
	same(t, received(t, w.watch(withLabels), 2), A, end)
	nothing := initial
	nothing.Labels = selector(t, "z")
	same(t, received(t, w.watch(nothing), 1), end)
	one := initial
	one.Key = pods + "b"
	same(t, received(t, w.watch(one), 2), B, end)
	plain := w.watch(storage.WatchOptions{Initial: true})
	same(t, received(t, plain, 2), A, B)
	quiet(t, plain)
	zero := w.watch(storage.WatchOptions{Bookmarks: true})
	same(t, received(t, zero, 2), A, B)

	c := w.create("c", thing{})
	for _, s := range []storage.Watch{s, plain, zero} {
		same(t, received(t, s, 1), fmt.Sprintf(`ADDED c@%d {}`, c))
	}
}

func TestManyInitialEvents(t *testing.T) {
	w := newWorld(t)
	const n = 2*initialPage + 7
	for i := range n {
		w.create(fmt.Sprintf("%05d", i), thing{})
	}
	s := w.watch(storage.WatchOptions{Initial: true, Bookmarks: true})
	last := w.create("later", thing{})
	got := received(t, s, n+2)
	if len(got) != n+2 {
		t.Fatalf("received %d events, want %d", len(got), n+2)
	}
	same(t, got[n:], fmt.Sprintf("BOOKMARK @%d end", last-1), fmt.Sprintf("ADDED later@%d {}", last))
}

func TestBookmarks(t *testing.T) {
	w := newWorld(t)
	now := w.create("a", thing{})
	s := w.watch(storage.WatchOptions{Revision: now, Bookmarks: true, Deadline: time.Now().Add(bookmarkBefore + 100*time.Millisecond)})
	none := w.watch(storage.WatchOptions{Revision: now, Deadline: time.Now().Add(bookmarkBefore + 100*time.Millisecond)})
	// Changes of other resources advance the progress, too.
	rev, err := w.backend.Create(context.Background(), "/registry/else/x", []byte("{}"), 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, received(t, s, 1), fmt.Sprintf("BOOKMARK @%d", rev))
	quiet(t, none)
}

// A bookmark is only sent if it is newer than the start of the watch.
func TestIdleBookmarks(t *testing.T) {
	w := newWorld(t)
	old := w.create("a", thing{})
	now := w.create("b", thing{})
	idle, behind := w.watch(storage.WatchOptions{Revision: now, Bookmarks: true}), w.watch(storage.WatchOptions{Revision: old, Bookmarks: true})
	same(t, received(t, behind, 1), fmt.Sprintf("ADDED b@%d {}", now))
	for _, s := range []storage.Watch{idle, behind} {
		s.(*watch).bookmarkDue(time.Now())
	}
	same(t, received(t, behind, 1), fmt.Sprintf("BOOKMARK @%d", now))
	quiet(t, idle)
}

func TestTooOld(t *testing.T) {
	backend := newBackend(t)
	w := &world{TB: t, backend: backend}
	old := w.create("a", thing{})
	now := w.create("b", thing{})
	w.run()
	var tooOld *storage.TooOldError
	_, err := w.cache.Watch(context.Background(), storage.WatchOptions{Revision: old})
	if !errors.As(err, &tooOld) || tooOld.Requested != old || tooOld.Oldest != now {
		t.Errorf("got %v, want a TooOldError", err)
	}
	w.watch(storage.WatchOptions{Revision: now})
}

func TestSlowWatchIsCut(t *testing.T) {
	w := newWorld(t)
	now := w.create("a", thing{})
	s := w.watch(storage.WatchOptions{Revision: now}).(*watch)
	s.mu.Lock()
	s.limit = 10
	s.mu.Unlock()
	for i := range 30 {
		w.create(fmt.Sprintf("x%d", i), thing{})
	}
	w.list(storage.ListOptions{})
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := s.Next(ctx)
		cancel()
		if errors.Is(err, storage.ErrTooSlow) {
			return
		}
		if err != nil {
			t.Fatalf("got %v, want ErrTooSlow", err)
		}
	}
}

func TestDropEndsWatches(t *testing.T) {
	w := newWorld(t)
	s := w.watch(storage.WatchOptions{})
	w.mux.Drop(pods)
	if _, err := s.Next(context.Background()); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := w.cache.List(context.Background(), storage.ListOptions{}); !errors.Is(err, storage.ErrStopped) {
		t.Errorf("a list of a dropped cache: %v", err)
	}
	again := w.mux.Cache(podConfig)
	if again == w.cache || again != w.mux.Cache(podConfig) {
		t.Error("the cache after a drop is not a new one, or not always the same")
	}
}

func TestStoppedWatchReleasesMemory(t *testing.T) {
	w := newWorld(t)
	w.create("a", thing{})
	s := w.watch(storage.WatchOptions{Bookmarks: true, Labels: labels.Everything(), Fields: fields.OneTermEqualSelector(storage.FieldName, "a")}).(*watch)
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if s.out != nil || s.filter != nil || s.opts.Labels != nil || s.opts.Fields != nil {
		t.Errorf("%+v", s)
	}
}
