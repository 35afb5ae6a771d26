//go:build unix

package postgres

import (
	"errors"
	"testing"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/postgres/postgrestest"
)

// While a synchronous standby is missing, writes are in doubt. What a failover would lose is not visible, even after
// the writer has given up.
func TestUnreplicatedWritesAreInvisible(t *testing.T) {
	primary := postgrestest.Start(t)
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	b, ctx := open(t, primary.URL("postgres")), t.Context()
	if err := primary.Synchronize(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(ctx, "/r/a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	b.writer.timeout = 300 * time.Millisecond
	if err := standby.Pause(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(ctx, "/r/b", []byte("1"), 0); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a write without the standby: %v", err)
	}
	time.Sleep(300 * time.Millisecond) // for a cancellation to arrive
	if kv, err := b.Get(ctx, "/r/b"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a write that is not replicated is visible: %v, %v", kv, err)
	}
	if err := standby.Resume(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = b.Get(ctx, "/r/b"); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the write does not become visible: %v", err)
		}
	}
}
