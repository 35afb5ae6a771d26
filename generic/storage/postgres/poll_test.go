//go:build unix

package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A watch gets the writes of its process without a poll, with the same previous values, and those of another process
// between them.
func TestOwnWritesNeedNoPoll(t *testing.T) {
	_, url := database(t)
	b, other := open(t, url), open(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from, err := b.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Watch(ctx, "/r/", from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	polls := b.poller.polls.Load()
	last, err := b.Create(ctx, "/r/a", []byte("0"), 0)
	const updates = 100
	for i := range updates {
		if err == nil {
			last, err = b.Update(ctx, "/r/a", fmt.Append(nil, i+1), last, 0)
		}
	}
	if err == nil {
		last, err = b.Delete(ctx, "/r/a", last)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := b.poller.polls.Load() - polls; n > updates/4 { // one each second
		t.Errorf("%d polls for %d writes", n, updates)
	}
	all, err := follow(ctx, s, last)
	if err != nil || len(all) != updates+2 {
		t.Fatalf("%d changes, %v", len(all), err)
	}
	for i, c := range all {
		previous, revision := fmt.Sprint(i-1), c.Revision-1
		if i == 0 {
			previous, revision = "", 0
		}
		if string(c.Previous) != previous || c.PrevRev != revision || c.Deleted() != (i == updates+1) {
			t.Errorf("change %d at %d: %q at %d, deleted %v", i, c.Revision, c.Previous, c.PrevRev, c.Deleted())
		}
	}
	if _, err = other.Create(ctx, "/r/b", []byte("other"), 0); err == nil {
		last, err = b.Create(ctx, "/r/c", []byte("own"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err = follow(ctx, s, last)
	if err != nil || len(all) != 2 || string(all[0].Value) != "other" || string(all[1].Value) != "own" {
		t.Errorf("after a write of another process: %v, %v", all, err)
	}
}
