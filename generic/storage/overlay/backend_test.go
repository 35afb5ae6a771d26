package overlay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
)

const prefix = "/registry/.workspaces/a/"

func defaults() *Defaults {
	values := map[string][]byte{}
	for i := range 6 {
		values[fmt.Sprintf("roles/d%d", i)] = fmt.Appendf(nil, "default %d", i)
	}
	return New(values, nil)
}

// model is what a view must show: a map of values.
type model map[string]string

// A view shows the defaults as if they were stored, whatever happens to them.
func TestViewIsAStore(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		below := memory.New()
		v := defaults().Over(below, prefix)
		want := model{}
		for key, value := range defaults().values {
			want[prefix+key] = string(value)
		}
		for step := range 200 {
			key := fmt.Sprintf("%sroles/%s%d", prefix, []string{"d", "x"}[random.IntN(2)], random.IntN(6))
			have, err := v.Get(t.Context(), key)
			if value, ok := want[key]; ok != (err == nil) || string(have.Value) != value {
				t.Fatalf("seed %d, step %d: %s is %q, %v, want %q", seed, step, key, have.Value, err, value)
			}
			want.change(t, v, key, have, random)
			want.compare(t, v, random)
		}
		_ = below.Close()
	}
}

// change changes a key in the view and in the model.
func (m model) change(t *testing.T, v *Backend, key string, have storage.KeyValue, random *rand.Rand) {
	t.Helper()
	ctx, value := t.Context(), fmt.Sprint("value ", random.IntN(1000))
	_, exists := m[key]
	stale := random.IntN(4) == 0
	expected := have.Revision
	if stale {
		expected += 1000
	}
	conflict := new(storage.ConflictError)
	switch random.IntN(3) {
	case 0:
		_, err := v.Create(ctx, key, []byte(value), 0)
		if exists != errors.Is(err, storage.ErrExists) {
			t.Fatalf("create %s: %v", key, err)
		}
		if !exists {
			m[key] = value
		}
		return
	case 1:
		_, err := v.Update(ctx, key, []byte(value), expected, 0)
		if errors.As(err, &conflict) != (stale || !exists) {
			t.Fatalf("update %s: %v", key, err)
		}
		if err == nil {
			m[key] = value
		}
	case 2:
		_, err := v.Delete(ctx, key, expected)
		if errors.As(err, &conflict) != (stale || !exists) {
			t.Fatalf("delete %s: %v", key, err)
		}
		if err == nil {
			delete(m, key)
		}
	}
	if conflict.Key == "" {
		return
	}
	if (conflict.Current != nil) != exists || exists && string(conflict.Current.Value) != m[key] {
		t.Fatalf("the conflict of %s has %+v", key, conflict.Current)
	}
}

// compare compares pages of the view with the model.
func (m model) compare(t *testing.T, v *Backend, random *rand.Rand) {
	t.Helper()
	opts := storage.RangeOptions{Prefix: []string{prefix, prefix + "roles/", prefix + "roles/d", "/registry/"}[random.IntN(4)],
		Limit: int64(random.IntN(5))}
	want := 0
	for key := range m {
		if len(key) >= len(opts.Prefix) && key[:len(opts.Prefix)] == opts.Prefix {
			want++
		}
	}
	seen := 0
	for {
		page, err := v.Range(t.Context(), opts)
		if err != nil || page.Count != int64(want-seen) {
			t.Fatalf("%+v: %d keys, %v, want %d of %d", opts, page.Count, err, want-seen, want)
		}
		for _, kv := range page.Items {
			if m[kv.Key] != string(kv.Value) || kv.Key <= opts.After {
				t.Fatalf("%s is %q, want %q", kv.Key, kv.Value, m[kv.Key])
			}
			opts.After, opts.Revision = kv.Key, page.Revision
			seen++
		}
		if !page.More {
			break
		}
	}
	if seen != want {
		t.Fatalf("%+v: %d keys, want %d", opts, seen, want)
	}
	opts = storage.RangeOptions{Prefix: opts.Prefix, CountOnly: true}
	if page, err := v.Range(t.Context(), opts); err != nil || page.Count != int64(want) || page.Items != nil {
		t.Fatalf("counted %d, %v, want %d", page.Count, err, want)
	}
}

// A list at an old revision shows the defaults as they were.
func TestOldRevisions(t *testing.T) {
	v := defaults().Over(memory.New(), prefix)
	ctx := t.Context()
	before, err := v.Create(ctx, prefix+"roles/x", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Delete(ctx, prefix+"roles/d1", Revision); err != nil {
		t.Fatal(err)
	}
	for revision, want := range map[int64]int{before: 7, 0: 6} {
		page, err := v.Range(ctx, storage.RangeOptions{Prefix: prefix, Revision: revision})
		if err != nil || len(page.Items) != want {
			t.Errorf("%d keys at revision %d, %v, want %d", len(page.Items), revision, err, want)
		}
	}
}

// A watch cache over a view has the defaults, and events of their changes and deletions.
func TestWatch(t *testing.T) {
	for _, filled := range []bool{true, false} {
		backend := memory.New()
		mux := cache.NewMultiplexer(backend, "/registry")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ended := make(chan struct{})
		go func() { defer close(ended); _ = mux.Run(ctx) }()
		<-mux.Started()
		v := defaults().Over(backend, prefix)
		c := mux.Child(".workspaces/a").Cache(cache.Config{View: v, CacheConfig: storage.CacheConfig{Prefix: prefix + "roles/"}})
		if filled {
			if l, err := c.List(ctx, storage.ListOptions{}); err != nil || len(l.Records) != 6 {
				t.Fatalf("the cache lists %d records, %v", len(l.Records), err)
			}
		}
		start, err := backend.Revision(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.Watch(ctx, storage.WatchOptions{Revision: start})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := v.Update(ctx, prefix+"roles/d1", []byte("changed"), Revision, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Delete(ctx, prefix+"roles/d1", changed); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Delete(ctx, prefix+"roles/d2", Revision); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Create(ctx, prefix+"roles/d1", []byte("again"), 0); err != nil {
			t.Fatal(err)
		}
		var got []string
		for len(got) < 4 {
			events, err := w.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Type != storage.Bookmark {
					got = append(got, fmt.Sprint(e.Type, " ", e.Record.Key[len(prefix):], " ", string(e.Record.Value())))
				}
			}
		}
		want := fmt.Sprint([]string{fmt.Sprint(storage.Modified, " roles/d1 changed"), fmt.Sprint(storage.Deleted, " roles/d1 changed"),
			fmt.Sprint(storage.Deleted, " roles/d2 default 2"), fmt.Sprint(storage.Added, " roles/d1 again")})
		if fmt.Sprint(got) != want {
			t.Errorf("filled %v: got %v, want %v", filled, got, want)
		}
		w.Stop()
		cancel()
		<-ended
		_ = backend.Close()
	}
}
