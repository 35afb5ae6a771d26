package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

// A child has the keys below its path and its parent does not, in caches and in taps.
func TestChildHasItsOwnKeys(t *testing.T) {
	w := newWorld(t)
	child := w.mux.Child(".rooms/a")
	other := w.mux.Child(".rooms/ab")
	below := func(m *Multiplexer) storage.Cache {
		return m.Cache(Config{CacheConfig: storage.CacheConfig{Prefix: m.prefix + "pods/"}})
	}
	cache, otherCache := below(child), below(other)
	rootTap, childTap, otherTap := w.mux.Tap(nil), child.Tap(nil), other.Tap(nil)
	defer rootTap.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	mine, err := w.backend.Create(ctx, "/registry/.rooms/a/pods/x", []byte("{}"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.backend.Create(ctx, "/registry/.rooms/unknown/pods/x", []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	last := w.create("x", thing{})
	for name, tap := range map[string]*Tap{"root": rootTap, "child": childTap} {
		changes, _, err := tap.Next(ctx)
		want := fmt.Sprint(map[string]int64{"root": last, "child": mine}[name])
		if err != nil || len(changes) != 1 || fmt.Sprint(changes[0].Revision) != want {
			t.Errorf("the tap of the %s got %v, %v, not the change at %s", name, changes, err, want)
		}
	}
	if len(otherTap.changes) > 0 {
		t.Errorf("another child got %v", otherTap.changes)
	}
	l, err := cache.List(ctx, storage.ListOptions{})
	if err != nil || names(l) != "/registry/.rooms/a/pods/x" || l.Revision < last {
		t.Errorf("the child lists %q at %d, %v", names(l), l.Revision, err)
	}
	if l, err := otherCache.List(ctx, storage.ListOptions{}); err != nil || len(l.Records) > 0 {
		t.Errorf("another child lists %v, %v", names(l), err)
	}
	if got := names(w.list(storage.ListOptions{})); got != "x" {
		t.Errorf("the parent lists %q", got)
	}
}

func TestDropChildEndsItsWatches(t *testing.T) {
	w := newWorld(t)
	child := w.mux.Child(".rooms/a")
	c := child.Cache(Config{CacheConfig: storage.CacheConfig{Prefix: child.prefix + "pods/"}})
	watch, err := c.Watch(context.Background(), storage.WatchOptions{Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	w.mux.DropChild(".rooms/a")
	for err == nil {
		_, err = watch.Next(context.Background())
	}
	if !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
	if again := w.mux.Child(".rooms/a"); again == child {
		t.Error("the child was not dropped")
	}
}

// Caches of children are reset when history is lost, too.
func TestLostHistoryResetsChildren(t *testing.T) {
	w, b := breakingWorld(t)
	child := w.mux.Child(".rooms/a")
	c := child.Cache(Config{CacheConfig: storage.CacheConfig{Prefix: child.prefix + "pods/"}})
	watch, err := c.Watch(context.Background(), storage.WatchOptions{Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	b.fail(storage.ErrCompacted)
	for err == nil {
		_, err = watch.Next(context.Background())
	}
	if !errors.Is(err, storage.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
}
