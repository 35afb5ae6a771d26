package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

func TestListSelects(t *testing.T) {
	w := newWorld(t)
	w.create("a/1", labelled("x", "y"))
	w.create("a/2", thing{Node: "n1"})
	w.create("b/1", labelled("x", "z"))
	last := w.create("b/2", thing{})
	if _, err := w.backend.Create(context.Background(), "/registry/podsecurity/x", []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		opts      storage.ListOptions
		want      string
		last      string
		remaining int64
	}{
		{name: "everything", want: "a/1 a/2 b/1 b/2"},
		{name: "a namespace", opts: storage.ListOptions{Prefix: pods + "a/"}, want: "a/1 a/2"},
		{name: "no such namespace", opts: storage.ListOptions{Prefix: pods + "aa/"}},
		{name: "labels", opts: storage.ListOptions{Labels: selector(t, "x")}, want: "a/1 b/1"},
		{name: "labels, not", opts: storage.ListOptions{Labels: selector(t, "x!=y")}, want: "a/2 b/1 b/2"},
		{name: "fields", opts: storage.ListOptions{Fields: on("n1")}, want: "a/2"},
		{name: "empty selector", opts: storage.ListOptions{Labels: selector(t, "")}, want: "a/1 a/2 b/1 b/2"},
		{name: "a key", opts: storage.ListOptions{Key: pods + "b/1"}, want: "b/1"},
		{name: "a key that does not match", opts: storage.ListOptions{Key: pods + "b/1", Labels: selector(t, "x=y")}},
		{name: "first page", opts: storage.ListOptions{Limit: 3}, want: "a/1 a/2 b/1", last: "b/1", remaining: 1},
		{name: "second page", opts: storage.ListOptions{Limit: 3, After: pods + "b/1"}, want: "b/2"},
		{name: "a page that fits", opts: storage.ListOptions{Limit: 4}, want: "a/1 a/2 b/1 b/2"},
		{name: "a page of a namespace", opts: storage.ListOptions{Prefix: pods + "a/", Limit: 1}, want: "a/1", last: "a/1", remaining: 1},
		{name: "a page with a selector", opts: storage.ListOptions{Labels: selector(t, "x"), Limit: 1}, want: "a/1", last: "a/1", remaining: -1},
		{name: "the last page with a selector", opts: storage.ListOptions{Labels: selector(t, "x"), Limit: 1, After: pods + "a/1"}, want: "b/1", last: "b/1", remaining: -1},
		{name: "behind everything", opts: storage.ListOptions{After: pods + "b/2", Limit: 1}},
		{name: "a namespace, on from another one", opts: storage.ListOptions{Prefix: pods + "a/", After: pods + "b/1", Limit: 1}},
		{name: "a namespace, on from behind it", opts: storage.ListOptions{Prefix: pods + "a/", After: pods + "a0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			check := func(from string, l storage.List) {
				if got := names(l); got != test.want {
					t.Errorf("%s: got %q, want %q", from, got, test.want)
				}
				wantLast := test.last
				if wantLast != "" {
					wantLast = pods + wantLast
				}
				if l.Last != wantLast || l.Remaining != test.remaining {
					t.Errorf("%s: got last %q and %d left, want %q and %d", from, l.Last, l.Remaining, wantLast, test.remaining)
				}
			}
			l := w.list(test.opts)
			check("cache", l)
			if l.Revision < last {
				t.Errorf("the list is of %d, before the last write at %d", l.Revision, last)
			}
			opts := test.opts
			if opts.Prefix == "" {
				opts.Prefix = pods
			}
			l, err := w.cache.fromBackend(context.Background(), opts, 0)
			if err != nil {
				t.Fatal(err)
			}
			check("backend", l)
		})
	}
}

// A selector may have a hundred thousand requirements. The comparison ends with the context.
func TestSelectionEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	w.create("a", labelled("x", "y"))
	w.list(storage.ListOptions{})
	s, revision, err := w.cache.take()
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.cache.page(ended, s, revision, storage.ListOptions{Prefix: pods, Labels: selector(t, "x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("the comparison goes on: %v", err)
	}
}

func TestListAtARevision(t *testing.T) {
	w := newWorld(t)
	a := w.create("a", thing{})
	b := w.create("b", thing{})
	page := w.list(storage.ListOptions{Limit: 1})
	c := w.create("c", thing{})
	w.list(storage.ListOptions{})
	exact := func(revision int64, limit int64, after string) storage.List {
		return w.list(storage.ListOptions{Freshness: storage.Freshness{Match: storage.Exact, Revision: revision}, Limit: limit, After: after})
	}
	for _, test := range []struct {
		revision int64
		want     string
	}{{a, "a"}, {b, "a b"}, {c, "a b c"}} {
		l := exact(test.revision, 0, "")
		if names(l) != test.want || l.Revision != test.revision {
			t.Errorf("at %d: got %q at %d, want %q", test.revision, names(l), l.Revision, test.want)
		}
	}
	if w.cache.find(page.Revision) == nil {
		t.Error("the snapshot of a page was not kept")
	}
	if rest := exact(page.Revision, 5, page.Last); names(rest) != "b" {
		t.Errorf("the rest of the list is %q, want b", names(rest))
	}
	ctx := context.Background()
	if err := w.backend.Compact(ctx, c); err != nil {
		t.Fatal(err)
	}
	_, err := w.cache.List(ctx, storage.ListOptions{Freshness: storage.Freshness{Match: storage.Exact, Revision: a}})
	if !errors.Is(err, storage.ErrCompacted) {
		t.Errorf("a compacted revision: %v", err)
	}
	var tooLarge *storage.TooLargeError
	_, err = w.cache.List(ctx, storage.ListOptions{Freshness: storage.Freshness{Match: storage.Exact, Revision: c + 100}})
	if !errors.As(err, &tooLarge) {
		t.Errorf("a revision that has not happened: %v", err)
	}
}

func TestSnapshotsExpire(t *testing.T) {
	w := newWorld(t)
	for i := range 2 * maxSnapshots {
		w.create(fmt.Sprintf("%d", i), thing{})
		w.list(storage.ListOptions{Limit: 1})
	}
	if n := len(w.cache.kept); n != maxSnapshots {
		t.Errorf("%d snapshots are kept", n)
	}
	w.cache.trim(w.mux.clock.now() + int64(snapshotTTL)/2)
	if n := len(w.cache.kept); n != maxSnapshots {
		t.Errorf("%d snapshots are left after a while", n)
	}
	w.cache.trim(w.mux.clock.now() + 2*int64(snapshotTTL))
	if n := len(w.cache.kept); n != 0 {
		t.Errorf("%d snapshots are left after long", n)
	}
}

func TestNotOlderThanWaits(t *testing.T) {
	w := newWorld(t)
	rev := w.create("a", thing{})
	w.list(storage.ListOptions{})
	go func() {
		time.Sleep(20 * time.Millisecond)
		w.create("b", thing{})
	}()
	l := w.list(storage.ListOptions{Freshness: storage.Freshness{Match: storage.NotOlderThan, Revision: rev + 1}})
	if names(l) != "a b" {
		t.Errorf("got %q, want both", names(l))
	}
	var tooLarge *storage.TooLargeError
	_, err := w.cache.Get(context.Background(), pods+"a", storage.Freshness{Match: storage.NotOlderThan, Revision: rev + 100})
	if !errors.As(err, &tooLarge) || tooLarge.Requested != rev+100 || tooLarge.Current != rev+1 {
		t.Errorf("got %v, want a TooLargeError", err)
	}
}

// A consistent read returns each write before it.
func TestConsistentReads(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	var rev int64
	for i := range 300 {
		if i == 0 {
			rev = w.create("a", thing{})
		} else {
			rev = w.update("a", rev, thing{Data: fmt.Sprint(i)})
		}
		r, err := w.cache.Get(ctx, pods+"a", storage.Freshness{})
		if err != nil || r.Revision != rev {
			t.Fatalf("got %v, %v; want revision %d", r, err, rev)
		}
	}
	if _, err := w.cache.Get(ctx, pods+"none", storage.Freshness{}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a missing key: %v", err)
	}
	rev = w.remove("a", rev)
	if l := w.list(storage.ListOptions{}); len(l.Records) != 0 || l.Revision < rev {
		t.Errorf("got %q at %d after the deletion at %d", names(l), l.Revision, rev)
	}
}

func TestCount(t *testing.T) {
	w := newWorld(t)
	w.create("a", thing{})
	w.create("b", thing{})
	if n, known := w.cache.Count(); known {
		t.Errorf("counted %d before the cache was filled", n)
	}
	w.list(storage.ListOptions{})
	if n, known := w.cache.Count(); n != 2 || !known {
		t.Errorf("counted %d, %v", n, known)
	}
}

func TestLargeValuesAreKeptCompressed(t *testing.T) {
	w := newWorld(t)
	large := func(digit string) thing { return thing{Node: strings.Repeat(digit, 40_000)} }
	first := w.create("a/1", large("1"))
	w.list(storage.ListOptions{Prefix: pods}) // fills the cache
	events := w.watch(storage.WatchOptions{Prefix: pods, Revision: first})
	w.update("a/1", first, large("2"))
	w.remove("a/1", w.update("a/1", first+1, large("3")))
	w.create("a/2", large("4"))
	for i, line := range received(t, events, 4) {
		if want := large(string("2334"[i])); !strings.HasSuffix(line, string(value(want))) {
			t.Errorf("event %d has %d bytes", i, len(line))
		}
	}
	w.run() // another multiplexer, whose cache is filled from storage
	w.create("a/3", large("4"))
	for _, r := range w.list(storage.ListOptions{Prefix: pods}).Records {
		first, second := r.Value(), r.Value()
		if string(first) != string(value(large("4"))) || &first[0] == &second[0] {
			t.Errorf("%s: %d bytes, which the record has", r.Key, r.Size())
		}
	}
}
